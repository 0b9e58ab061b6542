import { schemaDrift, indexDefinition } from '../../schema/drift.ts'
import { firstForeign, migrationStatus } from '../../schema/migrate.ts'
import { latestVersion } from '../../schema/migrations.ts'
import type { Check } from '../check.ts'
import { listing } from '../listing.ts'

export const schema: Check = async (db) => {
  const { applied, pending } = await migrationStatus(db)
  const version = applied.at(-1)?.version ?? 0
  const foreign = firstForeign(applied)
  if (foreign !== undefined)
    return {
      level: 'fail',
      title: `An unreleased version of stint made the schema '${db.schema}'`,
      detail: `Its migration ${foreign.version} is ${foreign.name}, which this version does not have. It cannot be upgraded.`,
      fix: `drop schema "${db.schema}" cascade;  -- with all its jobs; then: stint migrate --schema ${db.schema}`,
    }
  if (version > latestVersion)
    return {
      level: 'fail',
      title: `The schema is at version ${version}, but this code supports at most ${latestVersion}`,
      detail: 'A newer release of Stint migrated the schema. Upgrade Stint here.',
      fix: 'npm install stint@latest',
    }
  if (pending.length > 0)
    return {
      level: 'fail',
      title:
        version === 0
          ? `There is no schema '${db.schema}'`
          : `${pending.length} ${pending.length === 1 ? 'migration is' : 'migrations are'} not applied`,
      detail: `Not applied: ${listing(pending)}.`,
      fix: `stint migrate --schema ${db.schema}`,
    }
  const { missing, different } = await schemaDrift(db)
  if (missing.length === 0 && different.length === 0)
    return {
      level: 'ok',
      title: `The schema is at version ${version}`,
      detail: 'Every table, column, constraint, index and function matches the migrations.',
    }
  const fixes = missing.flatMap((object) => {
    const definition = object.startsWith('index ') ? indexDefinition(object.slice(6), db.schema) : undefined
    return definition === undefined ? [] : [`${definition};`]
  })
  const changed = different.map(
    ({ object, expected, found }) => `${object} (is: ${found}; should be: ${expected})`,
  )
  return {
    level: missing.length > 0 ? 'fail' : 'warn',
    title: `The schema differs from the migrations: ${[
      ...(missing.length > 0 ? [`${missing.length} missing`] : []),
      ...(different.length > 0 ? [`${different.length} different`] : []),
    ].join(', ')}`,
    detail: [
      ...(missing.length > 0 ? [`Missing: ${listing(missing)}.`] : []),
      ...(changed.length > 0 ? [`Different: ${listing(changed, '; ')}.`] : []),
      'The schema was changed by hand, or a restore was incomplete.',
    ].join(' '),
    ...(fixes.length > 0 ? { fix: fixes.join('\n') } : {}),
  }
}
