import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const API = join(import.meta.dirname, 'api')

/** Types that no method takes or returns. */
const INTERNAL = ['Bounds', 'RouteMethods']

it('every type of api/ and client.ts is exported by /authority, so that callers can name it and the reference shows it', () => {
  const index = readFileSync(join(import.meta.dirname, 'authority', 'index.ts'), 'utf8')
  const lists = [...index.matchAll(/^export (?:type )?\{([^}]*)\} from '\.\.\/(?:api\/|client\.ts)/gm)]
  const exported = new Set(lists.flatMap(([, names = '']) => names.match(/\w+/g) ?? []))
  const declared = ['../client.ts', ...readdirSync(API)]
    .filter((file) => file.endsWith('.ts') && !/\.(test|suite)\.ts$/.test(file))
    .flatMap((file) => [...readFileSync(join(API, file), 'utf8').matchAll(/^export (?:interface|type) (\w+)/gm)])
    .map(([, name = '']) => name)
  expect(declared.length).toBeGreaterThan(30)
  const missing = declared.filter((name) => !exported.has(name)).toSorted()
  expect(missing, 'export a new type in packages/sdk/src/authority/index.ts').toEqual(INTERNAL)
})
