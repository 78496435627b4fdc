import { type IssuerPolicy, type Policy, issuersOf } from '../policy/policy.ts'
import type { SharedIndex } from '../trust/revocation-index.ts'
import { type IssuerState, type TrustSnapshot, issuerKey } from '../trust/snapshot.ts'
import type { IssuerMessage, ListMessage } from './messages.ts'

/** Lists that the worker has are left out: they may have megabytes. */
export function toIssuerMessages(next: TrustSnapshot, before?: TrustSnapshot): readonly IssuerMessage[] {
  return [...next.issuers].map(([key, { floor, isSuspect, unread, position, body, index }]) => {
    const list = before?.issuers.get(key)?.index === index ? undefined : { position, body: copy(body), index }
    return {
      key,
      floor,
      isSuspect,
      unread,
      list: list === undefined ? undefined : { ...list, index: copyIndex(index) },
    }
  })
}

/** Builds the issuers of a snapshot. Throws when the message does not fit the policy or what this worker has. */
export function readIssuerMessages(
  messages: readonly IssuerMessage[],
  policy: Policy,
  before: TrustSnapshot | undefined,
): ReadonlyMap<string, IssuerState> {
  const policies = new Map(issuersOf(policy).map((each) => [issuerKey(each.network, each.issuer), each]))
  return new Map(
    messages.map((message) => [message.key, readIssuer(message, policies.get(message.key), before?.issuers)]),
  )
}

function readIssuer(
  { key, floor, isSuspect, unread, list }: IssuerMessage,
  policy: IssuerPolicy | undefined,
  before: ReadonlyMap<string, IssuerState> | undefined,
): IssuerState {
  const known = list === undefined ? before?.get(key) : shareList(list)
  if (policy === undefined || known === undefined) throw new Error('the worker lacks a list of the supervisor')
  const { position, body, index } = known
  return { policy, position, body, index, floor, isSuspect, unread }
}

/** In shared memory again, for the threads of this worker. */
function shareList({ position, body, index }: ListMessage): ListMessage {
  return {
    position,
    body: share(body, Uint8Array),
    index: {
      ...index,
      slots: share(index.slots, Uint32Array),
      entries: share(index.entries, Uint32Array),
      bytes: share(index.bytes, Uint8Array),
    },
  }
}

/** Shared memory cannot be sent to another process. */
function copyIndex(index: SharedIndex): SharedIndex {
  return { ...index, slots: copy(index.slots), entries: copy(index.entries), bytes: copy(index.bytes) }
}

type Numbers = Uint8Array | Uint32Array

function copy<Values extends Numbers>(values: Values): Values {
  return values.slice() as Values
}

function share<Values extends Numbers>(values: Values, kind: new (buffer: SharedArrayBuffer) => Values): Values {
  const shared = new kind(new SharedArrayBuffer(values.byteLength))
  shared.set(values)
  return shared
}
