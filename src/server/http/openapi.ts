import { stintVersion } from '../../node/version.ts'
import type { App } from '../context.ts'

/** The OpenAPI document, made from the descriptions of the routes alone. */
export function openApiDocument(app: App, basePath: string): object {
  app.openAPIRegistry.registerComponent('securitySchemes', 'token', {
    type: 'http',
    scheme: 'bearer',
    description:
      'A token made by `stint token new`. A browser signs in with a token and gets a session cookie.',
  })
  return app.getOpenAPI31Document({
    openapi: '3.1.0',
    info: {
      title: 'Stint console',
      version: stintVersion(),
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
      description:
        'Store, inspect and repair jobs. `x-action` is the permission that a route needs, `x-cli` the matching command of the CLI. ' +
        'Failures are problem details (RFC 9457).',
    },
    servers: [{ url: basePath === '' ? '/' : basePath }],
    security: [{ token: [] }],
  })
}
