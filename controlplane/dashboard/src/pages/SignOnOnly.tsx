/** Whether people of the organization may still come with a password or a mailed link. */
import { useQuery } from '@tanstack/react-query'
import { api, ask, ifMatch } from '../api/client'
import { useChanged } from '../lists'
import { Opens } from '../parts/Dialog'
import { Form } from '../parts/Form'
import { Answered } from '../parts/Page'
import { useSession } from '../session'

export function SignOnOnly() {
  const { orgId } = useSession()
  const path = { org_id: orgId }
  const changed = useChanged('organization')
  const organization = useQuery({
    queryKey: ['organization', orgId],
    queryFn: () => ask(api.GET('/v1/organizations/{org_id}', { params: { path } })),
  })
  return (
    <Answered of={organization}>
      {(one) => {
        const { enforce_sso } = one.settings
        const label = enforce_sso ? 'Allow passwords again' : 'Allow nothing else'
        return (
          <section className="card" aria-labelledby="only">
            <h2 id="only">{enforce_sso ? 'The only way in' : 'One way in of several'}</h2>
            <p>{enforce_sso ? 'Passwords and mailed links are refused.' : 'People may come with a password or a mailed link too.'}</p>
            <Opens label={label} className={enforce_sso ? '' : 'danger'}>
              {(close) => (
                <Form
                  fields={[]}
                  submit={label}
                  onSubmit={() => ask(api.PUT('/v1/organizations/{org_id}', { params: { path, header: ifMatch(one) }, body: { settings: { enforce_sso: !enforce_sso } } })).then(changed)}
                  onDone={close}
                  reload={() => void organization.refetch()}
                >
                  <p>{enforce_sso ? 'Accounts that have a password can sign in with it again.' : 'Sessions that began with a password or a link are not renewed, yours included: within the hour the provider alone lets in. Try it first.'}</p>
                </Form>
              )}
            </Opens>
          </section>
        )
      }}
    </Answered>
  )
}
