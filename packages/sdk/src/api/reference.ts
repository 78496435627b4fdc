import { type SurfaceMap, reference } from '@chancery/contract'
import { type JsonObject, type JsonValue, shape } from '@chancery/protocol'
import { json, text } from '../http/read-response.ts'
import type { CallOptions, Connection } from '../http/call.ts'

/** GET /surfaces (protocol/core 22.3). */
export type Surfaces = SurfaceMap & { readonly network: string; readonly version: string }

export interface ReferenceApi {
  /** The OpenAPI 3.0.3 document. */
  swagger(options?: CallOptions): Promise<JsonObject>
  surfaces(options?: CallOptions): Promise<Surfaces>
  /** The reference of routes as a page. */
  apiPage(options?: CallOptions): Promise<string>
  cliPage(options?: CallOptions): Promise<string>
}

const word = shape.required(shape.string)
const count = shape.required(shape.integer(0, Number.MAX_SAFE_INTEGER))

const readSurface = shape.open({
  method: word,
  target: word,
  title: word,
  purpose: word,
  access: word,
  auth_hint: word,
  rate_limit: shape.required(shape.nullable(shape.string)),
})

const readMap = shape.open({
  network: word,
  version: word,
  groups: shape.required(
    shape.arrayOf(shape.open({ group: word, surfaces: shape.required(shape.arrayOf(readSurface, { max: 10_000 })) }), {
      max: 100,
    }),
  ),
  counts: shape.required(shape.open({ http: count, cli: count, browser_safe: count })),
})

/** Method, group and access are not restricted: a newer authority may add values. */
function readSurfaces(value: JsonValue): Surfaces {
  return readMap(value, '') as Surfaces
}

export function referenceApi({ call }: Connection): ReferenceApi {
  return {
    swagger: (options) => call({ route: reference.swagger, read: json((value) => shape.object(value, '')), options }),
    surfaces: (options) => call({ route: reference.surfaces, read: json(readSurfaces), options }),
    apiPage: (options) => call({ route: reference.apiPage, read: text, options }),
    cliPage: (options) => call({ route: reference.cliPage, read: text, options }),
  }
}
