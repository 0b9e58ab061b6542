import { Link, useLocation } from 'wouter'
import { overviewQuery } from '../api/queues.ts'
import { useLive } from '../api/use-live.ts'
import { countText } from '../text/format.ts'
import { Icon } from './Icon.tsx'
import { screens } from './screens.ts'
import { useMe } from './use-me.ts'

export function Nav() {
  const [path] = useLocation()
  const { me } = useMe()
  // On every screen, so that the stream stays open and every screen shows new dead letters in the menu.
  const { data: overview } = useLive(overviewQuery())
  const shown = screens.filter((screen) => !('action' in screen) || me?.can.includes(screen.action) === true)
  return (
    <nav className="nav" aria-label="Screens">
      <ul>
        {shown.map((screen) => {
          const isHere =
            screen.path === '/' ? path === '/' : path === screen.path || path.startsWith(`${screen.path}/`)
          return (
            <li key={screen.path}>
              <Link href={screen.path} aria-current={isHere ? 'page' : undefined}>
                <Icon name={screen.icon} />
                <span>{screen.title}</span>
                {screen.path === '/dead' && overview !== undefined && overview.dead.count > 0 ? (
                  <span className="nav-count" aria-label={`${countText(overview.dead)} dead`}>
                    {countText(overview.dead)}
                  </span>
                ) : null}
              </Link>
            </li>
          )
        })}
      </ul>
    </nav>
  )
}
