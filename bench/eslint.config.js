import { rulesOf } from '../eslint.config.js'

export default [{ ignores: ['node_modules/'] }, ...rulesOf(import.meta.dirname)]
