/** Who else vouches for people: an identity provider of the organization, and clouds for programs. */
import { Page } from '../parts/Page'
import { Tabs } from '../parts/Tabs'
import { ADMINS } from '../permissions'
import { Federation } from './Federation'
import { IdentityProvider } from './IdentityProvider'

export default function SignOn() {
  return (
    <Page
      title="Single sign-on"
      roles={ADMINS}
      lead="A provider vouches for this organization alone. Whom it brings in gets no account, and never the role owner or admin."
    >
      <Tabs
        label="Who is vouched for"
        tabs={[
          { name: 'People', panel: () => <IdentityProvider /> },
          { name: 'Workload identity', panel: () => <Federation /> },
        ]}
      />
    </Page>
  )
}
