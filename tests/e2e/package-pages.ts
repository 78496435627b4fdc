import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..', '..')

/** Packages of a release, without their scope. */
export const PUBLISHED = [
  'authority',
  'cli',
  'contract',
  'gateway',
  'protocol',
  'sdk',
  'service-kit',
  'telemetry',
  'testkit',
  'vectors',
]

/** The page of a published package, which npm shows: its README with one example. */
export interface PackagePage {
  /** Such as `@chancery/sdk`. */
  readonly name: string
  readonly folder: string
  readonly text: string
  /** The program of the first example, and what it prints; undefined when the example is a command. */
  readonly program: { readonly source: string; readonly output: string } | undefined
  /** The commands of an ` ```sh run ` block. */
  readonly commands: string | undefined
}

/** Reads the page of every workspace that is not private. */
export async function readPackagePages(): Promise<readonly PackagePage[]> {
  const pages: PackagePage[] = []
  for (const group of ['packages', 'apps'])
    for (const name of await readdir(join(ROOT, group))) {
      const folder = join(ROOT, group, name)
      const about = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as {
        readonly name: string
        readonly private?: boolean
      }
      if (about.private !== true) pages.push(await readPage(about.name, folder))
    }
  return pages
}

async function readPage(name: string, folder: string): Promise<PackagePage> {
  const text = await readFile(join(folder, 'README.md'), 'utf8')
  const source = /```ts\n([^]*?)```/.exec(text)?.[1]
  const output = /```text\n([^]*?)```/.exec(text)?.[1] ?? ''
  const commands = /```sh run\n([^]*?)```/.exec(text)?.[1]
  return { name, folder, text, program: source === undefined ? undefined : { source, output }, commands }
}

/** The name of the example in a test project. */
export function exampleFile({ name }: PackagePage): string {
  return `${name.replace('@chancery/', '')}.example.ts`
}
