import { changes } from '@chancery/contract'
import { shape } from '@chancery/protocol'
import { json, known } from '../http/read-response.ts'
import type { CallOptions, Connection } from '../http/call.ts'

/** Which lists of an authority changed. */
export interface Changes {
  /** The joint version of all lists, for the next call. */
  readonly version: string
  /** Names of `versions` that differ from the given joint version; empty without one. */
  readonly changed: readonly string[]
  /** A text for each list. Only equality has a meaning. */
  readonly versions: Readonly<Record<string, string>>
}

export interface ChangesApi {
  /** Beta. As operator. Returns what changed since the joint version of an earlier call. */
  since(version?: string, options?: CallOptions): Promise<Changes>
}

const readChanges = known({
  version: shape.required(shape.string),
  changed: shape.required(shape.arrayOf(shape.string, { max: 100 })),
  versions: shape.required(shape.object),
})

export function changesApi({ call }: Connection): ChangesApi {
  return {
    since: (version, options) =>
      call({
        route: changes.current,
        query: { since: version },
        read: json((value) => {
          const { versions, ...rest } = readChanges(value, '')
          const texts = Object.entries(versions).map(([name, text]) => [name, shape.string(text, name)] as const)
          return { ...rest, versions: Object.fromEntries(texts) }
        }),
        options,
      }),
  }
}
