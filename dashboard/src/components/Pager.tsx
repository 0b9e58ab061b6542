import { Link } from 'wouter'
import { useUrl } from '../url/use-url.ts'
import { Icon } from './Icon.tsx'

/** Pages by cursor: a link to the next page, if there is one. The browser's Back leads to the previous page. */
export function Pager({ next }: { next: string | null }) {
  const { param, href } = useUrl()
  const cursor = param('cursor')
  if (cursor === undefined && next === null) return null
  return (
    <nav className="pager" aria-label="Pages">
      {cursor === undefined ? null : (
        <Link className="button" href={href({ cursor: undefined, sel: undefined })}>
          <Icon name="left" /> First page
        </Link>
      )}
      {next === null ? (
        <span className="muted">End of the list</span>
      ) : (
        <Link className="button" href={href({ cursor: next, sel: undefined })}>
          Next page <Icon name="right" />
        </Link>
      )}
    </nav>
  )
}
