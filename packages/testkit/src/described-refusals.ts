import { ALL_ROUTES, ERRORS, type ErrorCode, type Route, errorCodesOf } from '@chancery/contract'
import { FormError, type JsonValue, isJsonObject } from '@chancery/protocol'

/** Answered before a route is known, or for a path that no route has. */
const WITHOUT_ROUTE: ReadonlySet<string> = new Set(['not_found', 'method_not_allowed'])

const patterns: readonly { readonly route: Route; readonly path: RegExp }[] = ALL_ROUTES.map((route) => ({
  route,
  path: new RegExp(`^${route.path.replaceAll('.', '[.]').replaceAll(/\{[a-z_]+\}/g, route.tail ? '.+' : '[^/]+')}$`),
}))

/**
 * Returns a sentence when a route of an authority answers a code that GET /swagger.json does not list for it. Every
 * test that calls an authority checks it, so that the document cannot fall behind the routes.
 */
export function findUndescribedRefusal(
  method: string,
  target: string,
  status: number,
  json: JsonValue | undefined,
): string | undefined {
  const error = isJsonObject(json ?? null) ? (json as { readonly error?: JsonValue }).error : undefined
  const code = isJsonObject(error ?? null) ? (error as { readonly code?: JsonValue }).code : undefined
  const [path = ''] = target.split('?')
  const found = patterns.find(({ route, path: pattern }) => route.method === method && pattern.test(path))
  if (found === undefined) return undefined
  if (status < 300 && json !== undefined) return findUndescribedAnswer(found.route, json)
  if (status < 400 || typeof code !== 'string' || WITHOUT_ROUTE.has(code)) return undefined
  const { route } = found
  const listed = errorCodesOf(route).some((each) => each === code && statusOf(route, each) === status)
  return listed ? undefined : `${route.id} answers ${status} ${code}, which its route does not list in errors`
}

function statusOf(route: Route, code: ErrorCode): number {
  return route.statuses?.[code] ?? ERRORS[code].status
}

function findUndescribedAnswer({ id, answer, preview }: Route, json: JsonValue): string | undefined {
  const isPreview = preview !== undefined && isJsonObject(json) && json['dry_run'] === true
  return compareWith(id, isPreview ? preview : answer, json)
}

function compareWith(id: string, answer: Route['answer'], json: JsonValue): string | undefined {
  if (answer === undefined) return undefined
  try {
    const extra = findExtra(json, answer(json, '') as JsonValue, '')
    return extra === undefined ? undefined : `${id} answers ${extra}, which its form does not have`
  } catch (error) {
    if (error instanceof FormError) return `${id} answers another form: ${error.message}`
    throw error
  }
}

function findExtra(sent: JsonValue, read: JsonValue | undefined, place: string): string | undefined {
  if (Array.isArray(sent)) {
    const items = read as readonly JsonValue[]
    return sent
      .map((each, at) => findExtra(each as JsonValue, items[at], `${place}[${at}]`))
      .find((x) => x !== undefined)
  }
  if (!isJsonObject(sent)) return undefined
  for (const [name, value] of Object.entries(sent)) {
    const inner = (read as { readonly [name: string]: JsonValue } | undefined)?.[name]
    if (inner === undefined) return `${place}.${name}`
    const extra = findExtra(value, inner, `${place}.${name}`)
    if (extra !== undefined) return extra
  }
  return undefined
}
