import type { Route } from '@chancery/contract'

/** Which methods a decoded path takes; for OPTIONS and 405 only, matching of served requests is the framework's. */
export function allowedMethods(routes: readonly Route[], path: string): readonly string[] {
  const methods = new Set<string>()
  for (const route of routes) {
    if (!matches(route, path)) continue
    methods.add(route.method)
    if (route.method === 'GET') methods.add('HEAD')
  }
  return methods.size === 0 ? [] : [...methods, 'OPTIONS'].sort()
}

function matches(route: Route, path: string): boolean {
  const wanted = route.path.split('/')
  const given = path.split('/')
  if (route.tail === true ? given.length < wanted.length : given.length !== wanted.length) return false
  return wanted.every((part, i) => (part.startsWith('{') ? true : part === given[i]))
}
