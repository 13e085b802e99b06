/** The side with the links, and the page that was chosen. */
import { Suspense, useEffect, useRef, useState } from 'react'
import { Link, Route, Switch, useLocation } from 'wouter'
import { api, ask } from './api/client'
import icon from './icon.svg'
import { GROUPS, PAGES } from './navigation'
import { Organizations } from './Organizations'
import { Badge } from './parts/Badge'
import { Boundary } from './parts/Boundary'
import { Empty, Page, Skeleton } from './parts/Page'
import { Toasts } from './parts/Toast'
import { useArrival, useSession } from './session'

export function Frame() {
  const { environments } = useSession()
  const [location] = useLocation()
  const [isOpen, setOpen] = useState(false)
  useEffect(() => setOpen(false), [location])
  return (
    <div className="frame">
      <a className="skip" href="#page" onClick={(event) => { event.preventDefault(); document.getElementById('page')?.focus() }}>
        Skip to the page
      </a>
      <header className={isOpen ? 'side open' : 'side'}>
        <div className="side-head">
          <Link className="quiet brand" href="/">
            <img src={icon} alt="" /> Sluice
          </Link>
          <button type="button" className="menu-button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            Menu
          </button>
        </div>
        <Organizations />
        {environments.length > 0 && <Chooser />}
        <Links />
        <Whose />
      </header>
      <main id="page" tabIndex={-1}>
        <Boundary key={location}>
          <Pages />
        </Boundary>
      </main>
      <Toasts />
    </div>
  )
}

function Chooser() {
  const { environments, environment, choose } = useSession()
  return (
    <label className="field">
      <span className="fine">Environment {environment?.settings.test_mode && <Badge tone="warn">test</Badge>}</span>
      <select value={environment?.env_id} onChange={(event) => choose(event.target.value)}>
        {environments.map((one) => (
          <option key={one.env_id} value={one.env_id}>
            {environments.some((other) => other !== one && other.name === one.name) ? `${one.name} (${one.slug})` : one.name}
          </option>
        ))}
      </select>
    </label>
  )
}

/** What somebody may not open is not in their way. */
function Links() {
  const { can, is } = useSession()
  const [location] = useLocation()
  const links = useRef<HTMLElement>(null)
  // Where one is, is seen, however many links there are.
  useEffect(() => {
    links.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' })
  }, [location])
  return (
    <nav ref={links} aria-label="Pages">
      {GROUPS.map((group) => {
        const pages = PAGES.filter((page) => page.group === group && can(page.needs) && is(page.roles))
        if (pages.length === 0) return null
        return (
          <div key={group}>
            <h2>{group}</h2>
            <ul>
              {pages.map((page) => (
                <li key={page.path}>
                  <Link href={page.path} aria-current={isAt(location, page.path) ? 'page' : undefined}>
                    {page.title}
                  </Link>
                </li>
              ))}
            </ul>
          </div>
        )
      })}
    </nav>
  )
}

/** A page, or one that is reached from it. */
const isAt = (location: string, path: string) => location === path || location.startsWith(`${path}/`)

function Whose() {
  const { me } = useSession()
  const arrive = useArrival()
  const leave = async () => {
    await ask(api.POST('/v1/auth/logout', {})).catch(() => undefined)
    sessionStorage.clear()
    await arrive()
  }
  return (
    <div className="whose">
      <span>
        {me.email} <span className="fine">({me.role.replace('_', ' ')})</span>
      </span>
      <div className="row">
        <Link className="button small" href="/account">
          Account
        </Link>
        <button type="button" className="small" onClick={() => void leave()}>
          Sign out
        </button>
      </div>
    </div>
  )
}

function Pages() {
  const { environment } = useSession()
  return (
    <Suspense fallback={<Skeleton />}>
      <Switch>
        {PAGES.map(({ path, page: One, ofEnvironment, title, needs, roles }) => (
          <Route key={path} path={path}>
            {ofEnvironment && !environment ? (
              <Page title={title} {...(needs && { needs })} {...(roles && { roles })}>
                <Empty title="There is no environment yet">
                  <p>
                    <Link href="/environments">Environments</Link> is where one is made.
                  </p>
                </Empty>
              </Page>
            ) : (
              // Another environment is another page: nothing of the one before stays.
              <One key={ofEnvironment ? environment?.env_id : undefined} />
            )}
          </Route>
        ))}
        <Route>
          <Page title="Nothing is here">
            <p>
              <Link href="/">Go to the start</Link>
            </p>
          </Page>
        </Route>
      </Switch>
    </Suspense>
  )
}
