import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'

const FOLDER = join(process.cwd(), '../docs/reference/schemas')

/** Every published JSON Schema under the address that the reference names. */
export function getStaticPaths() {
  return globSync('*.json', { cwd: FOLDER }).map((file) => ({ params: { name: basename(file, '.json') } }))
}

export function GET({ params }) {
  const text = readFileSync(join(FOLDER, `${params.name}.json`), 'utf8')
  return new Response(text, { headers: { 'content-type': 'application/schema+json' } })
}
