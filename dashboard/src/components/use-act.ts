import { useRef } from 'react'
import { useMutation } from '@tanstack/react-query'
import type { UseMutationResult } from '@tanstack/react-query'
import type { ApiError } from '../api/client.ts'
import { queries } from '../api/use-live.ts'
import { say } from './toasts.tsx'

/** An action. After it, all data on the screen is fetched again: an action rarely changes only one place. */
export function useAct<Input, Answer>(
  run: (input: Input) => Promise<Answer>,
  options: { done?: (answer: Answer, input: Input) => void; isQuiet?: boolean } = {},
): UseMutationResult<Answer, ApiError, Input> {
  // useMutation learns of a new `run` only after paint: Enter right after the last letter would send the form without it.
  const runNow = useRef(run)
  runNow.current = run
  return useMutation<Answer, ApiError, Input>({
    mutationFn: (input) => runNow.current(input),
    onSuccess: async (answer, input) => {
      options.done?.(answer, input)
      await queries.invalidateQueries()
    },
    onError: (error) => {
      if (options.isQuiet !== true) sayFailed(error)
    },
  })
}

/** The undo of an action, for its toast. It uses no component: the one that acted may be unmounted by then. */
export function undoing(run: () => Promise<unknown>, text: string): () => void {
  return () => {
    run().then(() => {
      say({ tone: 'done', text })
      return queries.invalidateQueries()
    }, sayFailed)
  }
}

function sayFailed(error: ApiError): void {
  say({ tone: 'fail', text: `${error.problem.title}: ${error.message}` })
}
