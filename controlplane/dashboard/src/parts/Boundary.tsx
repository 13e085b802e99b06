/** A page that threw, or could not be fetched, says so; the links around it stay. */
import { Component, type ReactNode } from 'react'
import { problemOf } from '../api/problem'
import { Refusal } from './Page'

interface State {
  thrown: unknown
}

export class Boundary extends Component<{ children: ReactNode }, State> {
  override state: State = { thrown: undefined }

  static getDerivedStateFromError(thrown: unknown): State {
    return { thrown: thrown ?? 'nothing is known of it' }
  }

  override render() {
    const { thrown } = this.state
    if (thrown === undefined) return this.props.children
    return (
      <>
        <h1>This page does not work</h1>
        <Refusal problem={problemOf(thrown)} retry={() => location.reload()} />
      </>
    )
  }
}
