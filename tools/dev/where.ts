import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ALL_ROUTES, GATEWAY_ROUTES, type GatewayRoute, ROUTES, type Route, featureOf } from '@chancery/contract'

/** `npm run where -- 'POST /join'`: file and line of the function that answers a route of the authority or of the gateway. */

const ROOT = join(import.meta.dirname, '..', '..')

export interface ServedRoute {
  readonly service: 'authority' | 'gateway'
  readonly method: string
  readonly path: string
  /** File and line of its handler, below the root of the repository. */
  readonly place: string
}

const FEATURES = globSync('apps/authority/src/features/*/index.ts', { cwd: ROOT })

/** Every route of both services. */
export const SERVED_ROUTES: readonly ServedRoute[] = [
  ...ALL_ROUTES.map((route) => {
    const { method, path } = route
    const feature = featureOf(route)
    const member = Object.entries<Route>({ ...ROUTES[feature] }).find(([, each]) => each.id === route.id)?.[0] ?? ''
    const index = `apps/authority/src/features/${toKebabCase(feature)}/index.ts`
    return {
      service: 'authority' as const,
      method,
      path,
      // A route that another feature answers has the name of this one in its binding.
      place: placeOf([index, ...FEATURES], (file) => `[(](?:${feature}${file === index ? '|routes' : ''})[.]${member}`),
    }
  }),
  ...Object.entries<GatewayRoute>(GATEWAY_ROUTES).map(([name, { method, path }]) => {
    const indexes = globSync('apps/gateway/src/features/*/index.ts', { cwd: ROOT })
    return { service: 'gateway' as const, method, path, place: placeOf(indexes, () => `GATEWAY_ROUTES[.]${name}`) }
  }),
]

/** The features bind each route to a function, which they declare or import. */
function placeOf(indexes: readonly string[], routeIn: (index: string) => string): string {
  for (const index of indexes) {
    const binding = new RegExp(`${routeIn(index)}\\b,([^]*?)(?:\\),?\\n|\\)\\]|\\},?\\n|\\} *\\])`)
    const text = readFileSync(join(ROOT, index), 'utf8')
    const bound = binding.exec(text)?.[1]
    if (bound === undefined) continue
    // `(call) => find(call, parts)`, `own(find)` or `open: find`.
    const name = (/=>\s*(\w+)/.exec(bound) ?? /(\w+)\W*$/.exec(bound))?.[1] ?? ''
    const [, from] = new RegExp(`\\b${name}\\b[^;'()]*? from '([.]/[^']+)'`).exec(text) ?? []
    const file = from === undefined ? index : join(dirname(index), from)
    return `${file}:${lineOf(file, name)}`
  }
  throw new Error(`no feature binds ${indexes.slice(0, 1).map(routeIn).join('')}`)
}

function lineOf(file: string, name: string): number {
  const lines = readFileSync(join(ROOT, file), 'utf8').split('\n')
  // Outside of functions, or in the function that opens the feature.
  const [outside, inside] = ['', '  '].map(
    (start) => new RegExp(`^${start}(?:export )?(?:async )?(?:function|const) ${name}\\b`),
  )
  const at = lines.findIndex((line) => outside?.test(line))
  return (at >= 0 ? at : lines.findIndex((line) => inside?.test(line))) + 1
}

function toKebabCase(text: string): string {
  return text.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

/** By id (`GET /agents/{node_public_key}`), by a real path (`GET /agents/abc`) or by path alone for every method. */
export function findServedRoutes(wanted: string): readonly ServedRoute[] {
  const [, method, path = ''] = /^(?:([A-Za-z]+)\s+)?(\S+)$/.exec(wanted.trim()) ?? []
  const candidates = SERVED_ROUTES.filter((route) => method === undefined || route.method === method.toUpperCase())
  const exact = candidates.filter((route) => route.path === path)
  return exact.length > 0 ? exact : candidates.filter((route) => toPattern(route.path).test(path))
}

function toPattern(path: string): RegExp {
  return new RegExp(`^${path.replaceAll('.', '[.]').replaceAll(/\{[a-z_]+\}/g, '[^/]+')}$`)
}

function main(wanted: string): number {
  const routes = findServedRoutes(wanted)
  for (const { service, method, path, place } of routes) console.log(`${service}\t${method} ${path}\t${place}`)
  if (routes.length > 0) return 0
  console.error(`There is no route «${wanted}». All of them: docs/reference/routes.md`)
  return 1
}

if (import.meta.main) process.exitCode = main(process.argv.slice(2).join(' '))
