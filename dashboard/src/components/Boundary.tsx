import { Component } from 'react'
import type { ReactNode } from 'react'

/** An error of one part of the page is said where it is; the rest goes on. */
export class Boundary extends Component<
  { children: ReactNode; instead: (error: Error) => ReactNode },
  { error: Error | undefined }
> {
  override state: { error: Error | undefined } = { error: undefined }

  static override getDerivedStateFromError(error: Error): { error: Error } {
    return { error }
  }

  override render(): ReactNode {
    const { error } = this.state
    return error === undefined ? this.props.children : this.props.instead(error)
  }
}
