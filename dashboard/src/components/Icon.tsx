import type { ReactNode } from 'react'

/** Icons are drawn as SVG, because some fonts lack such characters. All have a grid of 16 and the colour of the text. */
const shapes = {
  scheduled: (
    <>
      <circle cx="8" cy="8" r="5.5" />
      <path d="M8 5v3h2.5" />
    </>
  ),
  waiting: <circle cx="8" cy="8" r="5.5" strokeDasharray="2.2 2.2" />,
  ready: <circle cx="8" cy="8" r="5" />,
  running: <circle cx="8" cy="8" r="5" fill="currentColor" />,
  retrying: <path d="M12.8 6.2A5.2 5.2 0 1 0 13.2 9M13.2 3v3.4H9.8" />,
  succeeded: <path d="m3.2 8.6 3.2 3.2 6.4-7.4" />,
  dead: <path d="m4 4 8 8M12 4l-8 8" strokeWidth="2.2" />,
  cancelled: (
    <>
      <circle cx="8" cy="8" r="5.3" />
      <path d="m4.4 11.6 7.2-7.2" />
    </>
  ),
  warn: <path d="M8 2.8 14 13H2zM8 6.6v3M8 11.2v.2" />,
  fail: (
    <>
      <circle cx="8" cy="8" r="5.8" />
      <path d="M8 4.8v4M8 11v.2" />
    </>
  ),
  unknown: <path d="M5.6 6a2.4 2.4 0 1 1 3.4 2.2c-.7.3-1 .7-1 1.5M8 12v.2" />,
  pause: <path d="M5.5 3.5v9M10.5 3.5v9" strokeWidth="2" />,
  play: <path d="M5 3.2v9.6L12.6 8z" fill="currentColor" />,
  up: <path d="M8 13V3.5M4 7.3 8 3.3l4 4" />,
  right: <path d="M3 8h9.5M8.7 4l4 4-4 4" />,
  left: <path d="M13 8H3.5M7.3 4l-4 4 4 4" />,
  copy: <path d="M5.5 5.5h7v7h-7zM10.5 5.5v-2h-7v7h2" />,
  search: (
    <>
      <circle cx="7" cy="7" r="4" />
      <path d="m10 10 3.5 3.5" />
    </>
  ),
  menu: <path d="M2.5 4.5h11M2.5 8h11M2.5 11.5h11" />,
  close: <path d="m4.5 4.5 7 7M11.5 4.5l-7 7" />,
  sun: (
    <>
      <circle cx="8" cy="8" r="2.8" />
      <path d="M8 1.8v1.6M8 12.6v1.6M1.8 8h1.6M12.6 8h1.6M3.6 3.6l1.1 1.1M11.3 11.3l1.1 1.1M12.4 3.6l-1.1 1.1M4.7 11.3l-1.1 1.1" />
    </>
  ),
  moon: <path d="M12.8 9.6A5.4 5.4 0 0 1 6.4 3.2a5.4 5.4 0 1 0 6.4 6.4z" />,
  system: <path d="M2.5 3.5h11v7.5h-11zM6 13.5h4M8 11v2.5" />,
  overview: <path d="M2.5 2.5h4.5v6H2.5zM9 2.5h4.5v3.5H9zM9 8.5h4.5v5H9zM2.5 11h4.5v2.5H2.5z" />,
  queues: <path d="M2.5 4h11M2.5 8h8M2.5 12h5" strokeWidth="2" />,
  jobs: <path d="M2.5 3.5h2v2h-2zM7 4.5h6.5M2.5 10.5h2v2h-2zM7 11.5h6.5" />,
  operations: <path d="M3 13V8.5M6.3 13V5.5M9.7 13V9.5M13 13V3" strokeWidth="2" />,
  workers: <path d="M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.2M5 11h.2" />,
  flows: <path d="M2.5 6.5h3v3h-3zM10.5 2.5h3v3h-3zM10.5 10.5h3v3h-3zM5.5 8h2.5M10.5 4H8v8h2.5" />,
  limits: <path d="M2.5 12a5.5 5.5 0 1 1 11 0M8 12l2.8-4.2M2.5 12h1.6M11.9 12h1.6" />,
  audit: <path d="M4 2.5h8v11H4zM6.2 5.5h3.6M6.2 8h3.6M6.2 10.5h2" />,
  doctor: <path d="M2 8.5h3l1.6-4 2.4 7.5 1.8-5 .8 1.5H14" />,
  keyboard: <path d="M1.8 4.5h12.4v7H1.8zM4 7h.2M6.5 7h.2M9 7h.2M11.5 7h.2M5 9.4h6" />,
  undo: <path d="M3 6.5h6.5a3.3 3.3 0 1 1 0 6.6H6M5.8 3.5 2.8 6.5l3 3" />,
} satisfies Record<string, ReactNode>

export type IconName = keyof typeof shapes

export function Icon({ name }: { name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      {shapes[name]}
    </svg>
  )
}
