import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'

/**
 * Checks Kubernetes manifests against the published API of Kubernetes, without a cluster. The package kubernetes-types is
 * that API's OpenAPI document as types; a manifest written down as a constant of its type is refused by the compiler
 * for every unknown name, missing member and wrong type, at any depth. A cluster would drop the unknown ones in silence.
 */

export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly labels?: object }
}

const ROOT = join(import.meta.dirname, '..', '..')

/** Documents that hold nothing, as templates leave them, are left out as a cluster does. */
export function readManifests(text: string): readonly Manifest[] {
  const documents = parseAllDocuments(text).map((document) => {
    const [error] = document.errors
    if (error !== undefined) throw error
    return document.toJS() as Manifest | null
  })
  return documents.filter((document) => document !== null)
}

/** What is wrong with them, in the words of the compiler; nothing when all is well. */
export async function checkManifests(manifests: readonly Manifest[]): Promise<readonly string[]> {
  // Below node_modules, so that the compiler finds the types as in every other package.
  const folder = await mkdtemp(join(ROOT, 'node_modules', '.chancery-manifests-'))
  try {
    const file = join(folder, 'manifests.ts')
    await writeFile(file, manifests.map(toConstant).join('\n'))
    const options = ['--ignoreConfig', '--noEmit', '--strict', '--exactOptionalPropertyTypes', '--module', 'esnext']
    const output = await compile([...options, '--moduleResolution', 'bundler', '--types', '', file])
    return output.split('\n').filter((line) => line.includes('error TS'))
  } finally {
    await rm(folder, { recursive: true })
  }
}

function toConstant({ apiVersion, kind, ...rest }: Manifest, index: number): string {
  const [group = '', version = ''] = apiVersion.includes('/') ? apiVersion.split('/') : ['core', apiVersion]
  const place = `kubernetes-types/${group.replace(/\.k8s\.io$/, '')}/${version}`
  // Typed by JSON, not by guess: an unknown kind is an import that fails.
  return (
    `import type { ${kind} as Kind${index} } from '${place}'\n` +
    `export const manifest${index}: Kind${index} = ${JSON.stringify({ apiVersion, kind, ...rest }, undefined, 1)}\n`
  )
}

function compile(args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(join(ROOT, 'node_modules/.bin/tsc'), [...args], { cwd: ROOT }, (error, stdout, stderr) => {
      // Its exit code says that something was found; no code at all, that it did not run.
      if (error !== null && typeof error.code !== 'number') reject(error)
      else if (error !== null && !stdout.includes('error TS')) reject(new Error(`tsc: ${stdout}${stderr}`))
      else resolve(stdout)
    })
  })
}
