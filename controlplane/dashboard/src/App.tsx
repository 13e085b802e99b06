/** Whoever is signed in sees the pages; everybody else the gate; and whoever follows a link of a mail what it is for. */
import { problemOf } from './api/problem'
import { Frame } from './Frame'
import { Gate } from './pages/Gate'
import { mailedLink } from './pages/MailedLink'
import { Refusal, Skeleton } from './parts/Page'
import { SessionProvider, useMe } from './session'

export function App() {
  const { data: me, error, isPending, refetch } = useMe()
  const followed = mailedLink()
  if (followed) return followed
  if (error) {
    return (
      <main>
        <Refusal problem={problemOf(error)} retry={() => void refetch()} />
      </main>
    )
  }
  if (isPending) {
    return (
      <main>
        <Skeleton />
      </main>
    )
  }
  if (!me) return <Gate />
  return (
    <SessionProvider me={me}>
      <Frame />
    </SessionProvider>
  )
}
