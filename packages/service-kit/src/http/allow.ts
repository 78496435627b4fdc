import type { Route } from '@chancery/contract'
import { decode } from './target.ts'

/**
 * Which methods a path takes; for OPTIONS and 405 only, matching of served requests is the framework's. Segments are
 * taken from the path as sent and decoded one by one, so that an encoded slash stays inside its segment.
 */
export function allowedMethods(routes: readonly Route[], rawPath: string): readonly string[] {
  const path = rawPath.split('/').map(decode)
  const methods = new Set<string>()
  for (const route of routes) {
    if (!matches(route, path)) continue
    methods.add(route.method)
    if (route.method === 'GET') methods.add('HEAD')
  }
  return methods.size === 0 ? [] : [...methods, 'OPTIONS'].sort()
}

function matches(route: Route, given: readonly string[]): boolean {
  const wanted = route.path.split('/')
  if (route.tail === true ? given.length < wanted.length : given.length !== wanted.length) return false
  return wanted.every((part, i) => (part.startsWith('{') ? true : part === given[i]))
}
