import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { ALL_ROUTES, ROUTES, featureOf } from '@chancery/contract'
import type { Route } from '@chancery/contract'

/** `npm run where -- 'POST /join'`: the file that answers a route. */

const ROOT = join(import.meta.dirname, '..', '..')

/** Feature and member name of the route table in kebab-case; the fixed files of the console share one handler. */
export function handlerFile(route: Route): string {
  const feature = featureOf(route)
  const member = Object.entries<Route>({ ...ROUTES[feature] }).find(([, each]) => each.id === route.id)?.[0] ?? ''
  const name = route.response === 'static' ? 'static' : toKebabCase(member)
  return `apps/authority/src/features/${toKebabCase(feature)}/${name}.ts`
}

function toKebabCase(text: string): string {
  return text.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

/** By id (`GET /agents/{node_public_key}`), by a real path (`GET /agents/abc`) or by path alone for every method. */
function findRoutes(wanted: string): readonly Route[] {
  const [, method, path = ''] = /^(?:([A-Za-z]+)\s+)?(\S+)$/.exec(wanted.trim()) ?? []
  const candidates = ALL_ROUTES.filter((route) => method === undefined || route.method === method.toUpperCase())
  const exact = candidates.filter((route) => route.path === path)
  return exact.length > 0 ? exact : candidates.filter((route) => toPattern(route.path).test(path))
}

function toPattern(path: string): RegExp {
  return new RegExp(`^${path.replaceAll('.', '[.]').replaceAll(/\{[a-z_]+\}/g, '[^/]+')}$`)
}

function main(wanted: string): number {
  const routes = findRoutes(wanted)
  for (const route of routes) {
    const file = handlerFile(route)
    console.log(`${route.id}\t${file}${existsSync(join(ROOT, file)) ? '' : '\tnot built yet'}`)
  }
  if (routes.length > 0) return 0
  console.error(`There is no route «${wanted}». All of them: docs/reference/routes.md`)
  return 1
}

if (import.meta.main) process.exitCode = main(process.argv.slice(2).join(' '))
