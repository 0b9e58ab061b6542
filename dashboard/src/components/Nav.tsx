import { Link, useLocation } from 'wouter'
import { Icon } from './Icon.tsx'
import { screens } from './screens.ts'
import { useMe } from './use-me.ts'

export function Nav() {
  const [path] = useLocation()
  const { me } = useMe()
  const shown = screens.filter((screen) => !('action' in screen) || me === undefined || me.can.includes(screen.action))
  return (
    <nav className="nav" aria-label="Screens">
      <ul>
        {shown.map((screen) => {
          const isHere = screen.path === '/' ? path === '/' : path === screen.path || path.startsWith(`${screen.path}/`)
          return (
            <li key={screen.path}>
              <Link href={screen.path} aria-current={isHere ? 'page' : undefined}>
                <Icon name={screen.icon} />
                <span>{screen.title}</span>
              </Link>
            </li>
          )
        })}
      </ul>
    </nav>
  )
}
