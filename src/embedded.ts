export { startEmbedded } from './embedded/start.ts'
export type { EmbeddedOptions, EmbeddedServer } from './embedded/start.ts'
