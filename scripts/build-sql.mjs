// Turns every src/**/*.sql into a typed module beside it (`enqueue.sql` → `enqueue.sql.ts`), so that bundlers
// cannot lose a statement and a misspelt parameter does not compile.
//
// A statement's text has two kinds of placeholders. `:name` becomes $1, $2 … in order of first use. The schema, written
// as `stint`, and the roles named after it, `stint_producer` and so on, are separate entries of `parts` (every odd one is
// such a name), so that another schema name needs no search and replace at run time.
// Migrations keep their whole text: no parameters, and with their comments.
//
// `-- include: jobs/matches` stands for the text of src/jobs/fragments/matches.sql, so that a column list or a filter
// that several statements share is written once.
import { readdirSync, readFileSync, statSync, writeFileSync, rmSync, existsSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const source = join(root, 'src')

const roleNames = 'owner|producer|worker|operator|viewer'
const ownName = new RegExp(`^stint(?:_(?:${roleNames}))?$`)
/** Inside strings and function bodies only a qualified name or a role is a name of Stint; the bare word is prose. */
const ownNameInText = new RegExp(`\\bstint(?=\\.)|\\bstint_(?:${roleNames})\\b`, 'g')

/** Yields [type, text] tokens; parameters are recognized only outside comments and strings. */
export function* tokens(sql) {
  const token =
    /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"(?:[^"]|"")*"|\$([a-z_]*)\$[\s\S]*?\$\1\$|::|:[a-zA-Z][a-zA-Z0-9]*|[a-zA-Z_][a-zA-Z0-9_]*|[\s\S]/g
  for (const [text] of sql.matchAll(token)) {
    if (text.startsWith('--') || text.startsWith('/*')) yield ['comment', text]
    else if (text.startsWith("'") || (text.startsWith('$') && text.length > 1)) yield ['string', text]
    else if (/^:[a-zA-Z]/.test(text)) yield ['parameter', text.slice(1)]
    else if (/^[a-zA-Z_]/.test(text)) yield ['word', text]
    else yield ['code', text]
  }
}

/** Text with its names separated: ['insert into ', 'stint', '.job …'], where every odd entry is a name to render. */
export function compile(sql, { keepComments }) {
  const parts = ['']
  const params = []
  const add = (text) => (parts[parts.length - 1] += text)
  const addName = (name) => parts.push(name, '')
  const addText = (text) => {
    let end = 0
    for (const match of text.matchAll(ownNameInText)) {
      add(text.slice(end, match.index))
      addName(match[0])
      end = match.index + match[0].length
    }
    add(text.slice(end))
  }
  for (const [type, text] of tokens(sql)) {
    if (type === 'comment') {
      if (keepComments) add(text)
    } else if (type === 'string') addText(text)
    else if (type === 'word' && ownName.test(text)) addName(text)
    else if (type === 'parameter' && !keepComments) {
      if (!params.includes(text)) params.push(text)
      add(`$${params.indexOf(text) + 1}`)
    } else if (type === 'parameter') add(`:${text}`)
    else add(text)
  }
  if (!keepComments) tidy(parts)
  return { parts, params }
}

/** Removes the blank lines that comments leave behind, so that they are not sent to the server. */
function tidy(parts) {
  for (const index of parts.keys()) parts[index] = parts[index].replace(/\n(?:[ \t]*\n)+/g, '\n')
  parts[0] = parts[0].trimStart()
  parts[parts.length - 1] = parts[parts.length - 1].trimEnd()
}

/** A statement with its fragments inserted, and the fragments of those. */
function readStatement(path) {
  return readFileSync(path, 'utf8').replace(/-- include: ([a-z-]+)\/([a-z-]+)$/gm, (_, room, name) =>
    readStatement(join(source, room, 'fragments', `${name}.sql`)).trimEnd(),
  )
}

function camelCase(name) {
  return name.replace(/-([a-z])/g, (_, letter) => letter.toUpperCase())
}

function moduleFor(path) {
  const name = relative(source, path)
  const isScript =
    name.startsWith(join('schema', 'migrations')) || ['roles.sql', 'test-tables.sql'].includes(basename(path))
  const { parts, params } = compile(readStatement(path), { keepComments: isScript })
  const toStatement = `${relative(dirname(path), join(source, 'db'))}/statement.ts`
  const identifier = isScript
    ? `${camelCase(basename(path, '.sql').replace(/^\d+_/, '').replaceAll('_', '-'))}Script`
    : `${camelCase(basename(path, '.sql'))}Sql`
  const type = isScript
    ? 'Script'
    : `Statement<${params.map((param) => `'${param}'`).join(' | ') || 'never'}>`
  const fields = { name, parts, ...(isScript ? {} : { params }) }
  return [
    `// Made from ${basename(path)} by scripts/build-sql.mjs.`,
    `import type { ${isScript ? 'Script' : 'Statement'} } from '${toStatement.startsWith('.') ? toStatement : `./${toStatement}`}'`,
    '',
    `export const ${identifier}: ${type} = ${JSON.stringify(fields, null, 2)}`,
    '',
  ].join('\n')
}

function* filesBelow(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) yield* filesBelow(path)
    else yield path
  }
}

function writeIfChanged(path, text) {
  if (existsSync(path) && statSync(path).isFile() && readFileSync(path, 'utf8') === text) return
  writeFileSync(path, text)
}

function main() {
  for (const path of filesBelow(source)) {
    if (path.endsWith('.sql') && basename(path) !== 'schema.sql' && basename(dirname(path)) !== 'fragments')
      writeIfChanged(`${path}.ts`, moduleFor(path))
    if (path.endsWith('.sql.ts') && !existsSync(path.slice(0, -3))) rmSync(path)
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main()
