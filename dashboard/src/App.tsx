import { lazy, Suspense, useState } from 'react'
import { Route, Switch, useLocation } from 'wouter'
import { live } from './api/live.ts'
import { Boundary } from './components/Boundary.tsx'
import { Header } from './components/Header.tsx'
import { KeyHelp } from './components/KeyHelp.tsx'
import { JumpBar } from './components/JumpBar.tsx'
import { Loading } from './components/Loaded.tsx'
import { Nav } from './components/Nav.tsx'
import { Page } from './components/Page.tsx'
import { ProblemNote } from './components/ProblemNote.tsx'
import { Toasts } from './components/toasts.tsx'
import { Trouble } from './components/Trouble.tsx'
import { screens } from './components/screens.ts'
import { useKeys } from './keys.ts'
import { OverviewRoute } from './routes/OverviewRoute.tsx'
import { segment } from './url/use-url.ts'

const QueuesRoute = lazy(() => import('./routes/QueuesRoute.tsx').then((m) => ({ default: m.QueuesRoute })))
const QueueRoute = lazy(() => import('./routes/QueueRoute.tsx').then((m) => ({ default: m.QueueRoute })))
const JobsRoute = lazy(() => import('./routes/JobsRoute.tsx').then((m) => ({ default: m.JobsRoute })))
const JobRoute = lazy(() => import('./routes/JobRoute.tsx').then((m) => ({ default: m.JobRoute })))
const DeadRoute = lazy(() => import('./routes/DeadRoute.tsx').then((m) => ({ default: m.DeadRoute })))
const OperationsRoute = lazy(() =>
  import('./routes/OperationsRoute.tsx').then((m) => ({ default: m.OperationsRoute })),
)
const OperationRoute = lazy(() =>
  import('./routes/OperationRoute.tsx').then((m) => ({ default: m.OperationRoute })),
)
const SchedulesRoute = lazy(() =>
  import('./routes/SchedulesRoute.tsx').then((m) => ({ default: m.SchedulesRoute })),
)
const FlowsRoute = lazy(() => import('./routes/FlowsRoute.tsx').then((m) => ({ default: m.FlowsRoute })))
const FlowRoute = lazy(() => import('./routes/FlowRoute.tsx').then((m) => ({ default: m.FlowRoute })))
const WorkersRoute = lazy(() =>
  import('./routes/WorkersRoute.tsx').then((m) => ({ default: m.WorkersRoute })),
)
const LimitsRoute = lazy(() => import('./routes/LimitsRoute.tsx').then((m) => ({ default: m.LimitsRoute })))
const AuditRoute = lazy(() => import('./routes/AuditRoute.tsx').then((m) => ({ default: m.AuditRoute })))
const SystemRoute = lazy(() => import('./routes/SystemRoute.tsx').then((m) => ({ default: m.SystemRoute })))

export function App() {
  const [open, setOpen] = useState<'jump' | 'help' | undefined>(undefined)
  const [path, navigate] = useLocation()
  const close = (): void => {
    setOpen(undefined)
  }

  useKeys([
    ...screens.map((screen) => ({
      key: `g ${screen.key}`,
      label: `go to ${screen.title}`,
      run: () => {
        navigate(screen.path)
      },
    })),
    {
      key: 'mod+k',
      label: 'jump to a job, queue or screen',
      run: () => {
        setOpen('jump')
      },
    },
    { key: '/', label: 'focus the filter', run: focusFilter },
    { key: 'p', label: 'pause or resume live data', run: togglePause },
    {
      key: '?',
      label: 'show this help',
      run: () => {
        setOpen('help')
      },
    },
    {
      key: 'Escape',
      label: 'close the dialog, or leave the field',
      run: () => {
        if (document.activeElement instanceof HTMLElement) document.activeElement.blur()
      },
    },
  ])

  return (
    <>
      <a
        className="skip"
        href="#main"
        onClick={(event) => {
          // The page has a <base>, so a link with only a fragment would lead to the root.
          event.preventDefault()
          document.getElementById('main')?.focus()
        }}
      >
        Skip to content
      </a>
      <Header
        jump={() => {
          setOpen('jump')
        }}
        help={() => {
          setOpen('help')
        }}
      />
      <Nav />
      <main id="main" tabIndex={-1}>
        <Trouble />
        <Boundary
          key={path}
          instead={(error) => (
            <ProblemNote
              error={error}
              retry={() => {
                globalThis.location.reload()
              }}
            />
          )}
        >
          <Suspense fallback={<Loading />}>
            <Switch>
              <Route path="/" component={OverviewRoute} />
              <Route path="/queues" component={QueuesRoute} />
              <Route path="/queues/:queue">{() => <QueueRoute queue={segment(1)} />}</Route>
              <Route path="/jobs" component={JobsRoute} />
              <Route path="/jobs/:id">{({ id }) => <JobRoute id={id} key={id} />}</Route>
              <Route path="/dead" component={DeadRoute} />
              <Route path="/operations" component={OperationsRoute} />
              <Route path="/operations/:id">{({ id }) => <OperationRoute id={id} />}</Route>
              <Route path="/schedules" component={SchedulesRoute} />
              <Route path="/flows" component={FlowsRoute} />
              <Route path="/flows/:id">{({ id }) => <FlowRoute id={id} key={id} />}</Route>
              <Route path="/workers" component={WorkersRoute} />
              <Route path="/limits" component={LimitsRoute} />
              <Route path="/audit" component={AuditRoute} />
              <Route path="/system" component={SystemRoute} />
              <Route>
                <Page title="Page not found">
                  <p className="empty">There is no page at this address.</p>
                </Page>
              </Route>
            </Switch>
          </Suspense>
        </Boundary>
      </main>
      <Toasts />
      {open === 'jump' ? <JumpBar close={close} /> : null}
      {open === 'help' ? <KeyHelp close={close} /> : null}
    </>
  )
}

function togglePause(): void {
  if (live.state.mode === 'paused') live.resume()
  else live.pause()
}

function focusFilter(): void {
  const filter = document.querySelector<HTMLInputElement>('main [data-filter]')
  filter?.focus()
  filter?.select()
}
