/** A page that the server renders itself: without script, with one style sheet, all text escaped. */
export function page({
  basePath,
  title,
  body,
  status = 200,
  headers = {},
}: {
  basePath: string
  title: string
  /** HTML, made by `html`. */
  body: Html
  status?: number
  headers?: Readonly<Record<string, string>>
}): Response {
  const document = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        <title>${title} · Stint</title>
        <link rel="stylesheet" href="${basePath}/page.css" />
      </head>
      <body>
        <main>
          <h1>${title}</h1>
          ${body}
        </main>
      </body>
    </html>`
  return new Response(document.text, {
    status,
    headers: { 'Content-Type': 'text/html; charset=utf-8', ...headers },
  })
}

/** Text that is HTML already. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** A template of HTML. Values are escaped unless they are `Html` themselves. */
export function html(parts: TemplateStringsArray, ...values: readonly (string | Html)[]): Html {
  const pieces = parts.map((part, index) => {
    const value = values[index]
    return part + (value === undefined ? '' : value instanceof Html ? value.text : escapeHtml(value))
  })
  return new Html(pieces.join(''))
}

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => escapes[character] ?? character)
}

export const pageStyle = `:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 0; display: grid; min-height: 100vh; place-items: center;
  background: light-dark(#f6f7f9, #14161a); color: light-dark(#1b1e24, #e8eaee); }
main { box-sizing: border-box; width: min(28rem, 100vw); padding: 2rem; border-radius: 0.75rem;
  background: light-dark(#fff, #1d2026); box-shadow: 0 1px 3px rgb(0 0 0 / 0.2); }
h1 { margin: 0 0 1rem; font-size: 1.25rem; }
label { display: block; margin-bottom: 0.25rem; }
input { box-sizing: border-box; width: 100%; padding: 0.5rem; font: inherit;
  border: 1px solid light-dark(#6b7280, #8b93a1); border-radius: 0.375rem; background: transparent; color: inherit; }
button { margin-top: 1rem; padding: 0.5rem 1rem; min-height: 2.5rem; font: inherit; border: 0; border-radius: 0.375rem;
  background: light-dark(#1d4ed8, #93b4ff); color: light-dark(#fff, #10131a); cursor: pointer; }
:focus-visible { outline: 3px solid light-dark(#1d4ed8, #93b4ff); outline-offset: 2px; }
dt { margin-top: 0.75rem; font-size: 0.875rem; color: light-dark(#55606f, #a3acba); }
dd { margin: 0; }
main { overflow-wrap: anywhere; }
code { font-family: ui-monospace, monospace; overflow-wrap: anywhere; }
.failure { color: light-dark(#b42318, #ff9b8f); }
`
