import { Component } from 'react'
import type { ReactNode } from 'react'

/** An error boundary: a part of the page that fails shows its error, and the rest keeps working. */
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
