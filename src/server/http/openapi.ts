import { stintVersion } from '../../node/version.ts'
import type { App } from '../context.ts'

/** The API as its routes describe it; there is no other description. */
export function openApiDocument(app: App, basePath: string): object {
  app.openAPIRegistry.registerComponent('securitySchemes', 'token', {
    type: 'http',
    scheme: 'bearer',
    description: 'A token made by `stint token new`. A browser signs in with one and has a cookie then.',
  })
  return app.getOpenAPI31Document({
    openapi: '3.1.0',
    info: {
      title: 'Stint console',
      version: stintVersion(),
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
      description:
        'Store jobs, look at them, repair them. `x-action` is the right that a route takes, `x-cli` the same on the command line. ' +
        'Failures are problems of RFC 9457.',
    },
    servers: [{ url: basePath === '' ? '/' : basePath }],
    security: [{ token: [] }],
  })
}
