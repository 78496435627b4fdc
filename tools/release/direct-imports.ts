import { readFile, readdir, rename, writeFile } from 'node:fs/promises'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'

/**
 * Part of `npm run build`: in the compiled files, an import from an index becomes imports from the files that define
 * the names. An index loads its whole package, so each command would load every module of protocol, contract and
 * library. The meaning is the same, and a file that was compiled again without this step works, too. One line stays one
 * line, so source maps fit.
 */

const ROOT = join(import.meta.dirname, '..', '..')
const GROUPS = ['packages', 'apps'] as const
/** As tsc writes them: one statement on one line. */
const STATEMENT = /^(import|export) (\*(?: as \w+)?|\{[^}\n]*\}) from '([^'\n]+)';$/gm
const COMMENT = /\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm

interface Workspace {
  readonly name: string
  readonly folder: string
  readonly exports: Readonly<Record<string, string | { readonly default?: string }>>
}

interface Statement {
  readonly clause: string
  readonly from: string
}

interface Compiled {
  /** It only passes on names of other files. */
  readonly isIndex: boolean
  readonly passedOn: readonly Statement[]
}

/** Where a name is defined: `*` is the module itself. */
interface Place {
  readonly file: string
  readonly name: string
}

/** Rewrites the compiled files and gives the number of those that changed. */
export async function writeDirectImports(root: string = ROOT): Promise<number> {
  const tree = new Tree(await readWorkspaces(root))
  let changed = 0
  for (const { folder } of tree.workspaces) {
    for (const name of await readdir(join(folder, 'dist'), { recursive: true })) {
      // Folders of pages are bundled.
      if (!name.endsWith('.js') || /^(?:console|evidence-page)[/\\]/.test(name)) continue
      const file = join(folder, 'dist', name)
      const text = await readFile(file, 'utf8')
      const direct = tree.rewrite(text, file)
      if (direct === text) continue
      // A program that starts now reads either form.
      await writeFile(`${file}.new`, direct)
      await rename(`${file}.new`, file)
      changed += 1
    }
  }
  return changed
}

async function readWorkspaces(root: string): Promise<readonly Workspace[]> {
  const found: Workspace[] = []
  for (const group of GROUPS) {
    for (const name of await readdir(join(root, group))) {
      const folder = join(root, group, name)
      if (!existsSync(join(folder, 'dist')) || !existsSync(join(folder, 'package.json'))) continue
      const about = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as Partial<Workspace>
      found.push({ name: about.name ?? name, folder, exports: about.exports ?? {} })
    }
  }
  return found
}

class Tree {
  readonly workspaces: readonly Workspace[]
  readonly #compiled = new Map<string, Compiled>()

  constructor(workspaces: readonly Workspace[]) {
    this.workspaces = workspaces
  }

  rewrite(text: string, file: string): string {
    return text.replace(STATEMENT, (statement: string, keyword: string, clause: string, from: string) => {
      const index = this.#resolve(from, file)
      if (keyword === 'export' || clause.startsWith('*') || index === undefined) return statement
      if (!this.#read(index).isIndex) return statement
      return this.#direct(clause, index, file) ?? statement
    })
  }

  /** Undefined when a file is not to be imported from outside of its workspace. */
  #direct(clause: string, index: string, file: string): string | undefined {
    const lines: string[] = []
    const named = new Map<string, string[]>()
    for (const [name, local] of namesOf(clause)) {
      const place = this.#find(index, name)
      const from = place === undefined ? undefined : this.#specifier(place.file, file)
      if (place === undefined || from === undefined) return undefined
      if (place.name === '*') lines.push(`import * as ${local} from '${from}';`)
      else named.set(from, [...(named.get(from) ?? []), place.name === local ? local : `${place.name} as ${local}`])
    }
    for (const [from, names] of named) lines.push(`import { ${names.join(', ')} } from '${from}';`)
    return lines.join(' ')
  }

  /** Follows what indexes pass on. */
  #find(file: string, name: string): Place | undefined {
    const { isIndex, passedOn } = this.#read(file)
    if (!isIndex) return exportsName(file, name, passedOn) ? { file, name } : undefined
    for (const { clause, from } of passedOn) {
      const target = this.#resolve(from, file)
      if (clause === `* as ${name}`) return target === undefined ? undefined : { file: target, name: '*' }
      const [original] = namesOf(clause).find(([, local]) => local === name) ?? []
      if (original !== undefined && target !== undefined) return this.#find(target, original)
    }
    for (const { clause, from } of passedOn) {
      const target = clause === '*' ? this.#resolve(from, file) : undefined
      const place = target === undefined ? undefined : this.#find(target, name)
      if (place !== undefined) return place
    }
    return undefined
  }

  #read(file: string): Compiled {
    const known = this.#compiled.get(file)
    if (known !== undefined) return known
    const code = readFileSync(file, 'utf8').replace(COMMENT, '')
    const passedOn = [...code.matchAll(STATEMENT)].flatMap(([, keyword, clause = '', from = '']) =>
      keyword === 'export' ? [{ clause, from }] : [],
    )
    const rest = code.replace(STATEMENT, (statement: string, keyword: string) =>
      keyword === 'export' ? '' : statement,
    )
    const compiled = { isIndex: rest.trim() === '' && passedOn.length > 0, passedOn }
    this.#compiled.set(file, compiled)
    return compiled
  }

  /** The compiled file of this repository that a specifier leads to. */
  #resolve(from: string, file: string): string | undefined {
    if (from.startsWith('.')) return resolve(dirname(file), from)
    const workspace = this.workspaces.find(({ name }) => from === name || from.startsWith(`${name}/`))
    const entry = workspace?.exports[`.${from.slice(workspace.name.length)}`]
    const path = typeof entry === 'object' ? entry.default : entry
    return workspace === undefined || path?.endsWith('.js') !== true ? undefined : join(workspace.folder, path)
  }

  #specifier(target: string, file: string): string | undefined {
    const owner = this.workspaces.find(({ folder }) => target.startsWith(folder + sep))
    if (owner === undefined) return undefined
    if (file.startsWith(owner.folder + sep)) {
      const path = relative(dirname(file), target).replaceAll(sep, '/')
      return path.startsWith('.') ? path : `./${path}`
    }
    if (owner.exports['./dist/*.js'] === undefined) return undefined
    return `${owner.name}/${relative(owner.folder, target).replaceAll(sep, '/')}`
  }
}

/** Names of a clause: what the other file calls them, and what they are called here. */
function namesOf(clause: string): readonly (readonly [name: string, local: string])[] {
  if (!clause.startsWith('{')) return []
  const parts = clause.slice(1, -1).split(',')
  return parts
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map((part) => {
      const [name = '', local = name] = part.split(' as ')
      return [name, local] as const
    })
}

function exportsName(file: string, name: string, passedOn: readonly Statement[]): boolean {
  if (passedOn.some(({ clause }) => namesOf(clause).some(([, local]) => local === name))) return true
  const code = readFileSync(file, 'utf8')
  if (new RegExp(String.raw`^export (?:async )?(?:function\*?|const|let|class) ${name}\b`, 'm').test(code)) return true
  return [...code.matchAll(/^export (\{[^}\n]*\});$/gm)].some(([, clause = '']) =>
    namesOf(clause).some(([, local]) => local === name),
  )
}

if (import.meta.main) console.log(`${await writeDirectImports()} compiled files import directly`)
