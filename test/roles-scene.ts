import pg from 'pg'
import { afterAll, beforeAll } from 'vitest'
import { defineJob, Stint } from '../src/index.ts'
import { createEmptyDatabase } from './support/database.ts'
import type { TestDatabase } from './support/database.ts'

export const job = defineJob({ kind: 'role.probe', queue: 'q' })

export const roles = ['producer', 'worker', 'viewer', 'operator'] as const
export type Role = (typeof roles)[number]

/** A login that is a member of one role, with its connections. */
export interface Login {
  name: string
  url: string
  pool: pg.Pool
  stint: Stint
}

export interface RolesScene {
  readonly db: TestDatabase
  /** A client of the login that migrated. */
  readonly owner: Stint
  login: (role: Role) => Login
  /** Whether the login of a role has the rights that a statement needs. */
  may: (role: Role, statement: string) => Promise<boolean>
}

/**
 * A database with the roles of Stint and a login for each, for the tests of one file. Roles belong to the whole server
 * and are named after the schema, so each file has a schema name of its own.
 */
export function rolesScene(schema: string): RolesScene {
  const scene: { db?: TestDatabase; owner?: Stint } = {}
  const logins = new Map<Role, Login>()
  beforeAll(async () => {
    const db = (scene.db = await createEmptyDatabase())
    scene.owner = new Stint({ connection: db.url, schema })
    await scene.owner.migrate({ roles: true })
    for (const role of roles) {
      const name = `login_${schema}_${role}`
      await db.query(`drop role if exists ${name}`)
      await db.query(`create role ${name} login password 'secret' in role ${schema}_${role}`)
      const url = new URL(db.url)
      url.username = name
      url.password = 'secret'
      logins.set(role, {
        name,
        url: url.href,
        pool: new pg.Pool({ connectionString: url.href }),
        stint: new Stint({ connection: url.href, schema }),
      })
    }
  })
  afterAll(async () => {
    for (const { pool, stint } of logins.values()) {
      await pool.end()
      await stint.close()
    }
    await scene.owner?.close()
    for (const { name } of logins.values()) await scene.db?.query(`drop role if exists ${name}`)
    await scene.db?.drop()
  })

  function login(role: Role): Login {
    return logins.get(role) ?? missing()
  }

  async function may(role: Role, statement: string): Promise<boolean> {
    try {
      await login(role).pool.query(statement)
      return true
    } catch (error) {
      // 55000 is the error of a view over several tables for every change, by any role.
      if (error instanceof pg.DatabaseError && ['42501', '55000'].includes(error.code ?? '')) return false
      throw error
    }
  }

  return {
    get db() {
      return scene.db ?? missing()
    },
    get owner() {
      return scene.owner ?? missing()
    },
    ...{ login, may },
  }
}

function missing(): never {
  throw new Error('There is no scene outside of a test')
}
