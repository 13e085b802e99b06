/** Refreshes of the session: one at a time for all pages of a browser, which share its cookies. */

/** What a refresh needs of the browser. */
export interface Means {
  /** A cookie that every refresh changes; none: nobody is signed in. */
  mark: () => string | undefined
  /** Runs while no other page of this browser refreshes. */
  alone: <T>(work: () => Promise<T>) => Promise<T>
  send: (body: { org_id?: string }) => Promise<Response>
}

/** `later`: the platform could not say. */
export type Outcome = 'renewed' | 'over' | 'later'

export class Refresher {
  /** The mark of a session whose refresh was refused: asking again would change nothing. */
  private refused: string | undefined

  constructor(private readonly means: Means) {}

  /** The session goes on, after a request that was sent with this mark was refused. */
  renew(mark: string | undefined): Promise<Outcome> {
    return this.means.alone(async () => {
      const now = this.means.mark()
      if (now === undefined || now === this.refused) return 'over'
      // Another page has refreshed, or signed in, meanwhile.
      if (now !== mark) return 'renewed'
      const response = await this.means.send({})
      if (response.ok) return 'renewed'
      if (response.status !== 401 && response.status !== 403) return 'later'
      this.refused = now
      return 'over'
    })
  }

  /** The session goes on in another organization. */
  enter(orgId: string): Promise<Response> {
    return this.means.alone(() => this.means.send({ org_id: orgId }))
  }
}
