import { type JsonObject, type Signer, isJsonObject } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { type AuthorityProcess, type NodeCaller, type TestResponse, nodeCaller } from '@chancery/testkit'
import type { Acks } from '../lib/acknowledgements.ts'
import { newSigner } from '../lib/seed.ts'
import type { Random } from '../lib/random.ts'
import { text } from '../lib/rows.ts'

/** Load on an authority until it is killed: invites, joins, renewals, heartbeats, revocations, readers of the list. */
export interface Load {
  /** Resolves when the authority no longer responds, or after `seconds`; true when it was killed. */
  run(seconds: number): Promise<boolean>
  /** Responses that the specification does not allow. */
  readonly violations: readonly string[]
}

interface Member {
  readonly cert_id: string
  readonly node: NodeCaller
}

const WORKERS = 6
const REASONS = ['unspecified', 'cessation_of_operation', 'superseded', 'key_compromise'] as const
/** A node may be refused because another worker revoked its certificate or reported its key as compromised. */
const NODE_REFUSALS = ['certificate_revoked', 'node_key_compromised', 'certificate_superseded']

// oxlint-disable-next-line max-lines-per-function -- the workers share their members and violations
export function createLoad(process: AuthorityProcess, acks: Acks, random: Random): Load {
  const members: Member[] = []
  const violations: string[] = []
  let isDead = false

  /** Returns the body if it has this status; undefined for allowed refusals. Notes every other response. */
  const take = (answer: TestResponse, status: number, allowed: readonly string[] = []): JsonObject | undefined => {
    if (answer.status === status && isJsonObject(answer.json)) return answer.json
    const error = isJsonObject(answer.json) ? answer.json['error'] : undefined
    const code = isJsonObject(error) ? text(error, 'code') : ''
    if (!allowed.includes(code)) violations.push(`answered ${answer.status} ${answer.text.slice(0, 200)}`)
    return undefined
  }

  const join = async (signer: Signer): Promise<void> => {
    const invite = take(await process.as('standard')('POST', '/admin/invite', {}), 201)
    if (invite === undefined) return
    const token = text(invite, 'token_id')
    acks.invites.add(token)
    const node = nodeCaller(process.url, signer, () => systemClock.now())
    const answer = await node.join(token)
    const certificate = take(answer, 201, NODE_REFUSALS)
    if (certificate === undefined) return
    const cert_id = text(certificate, 'cert_id')
    acks.certificates.set(cert_id, answer.text)
    members.push({ cert_id, node })
  }

  const renew = async ({ node, cert_id }: Member): Promise<void> => {
    const answer = await node.renew(cert_id)
    const certificate = take(answer, 201, NODE_REFUSALS)
    if (certificate === undefined) return
    acks.certificates.set(text(certificate, 'cert_id'), answer.text)
    members.push({ cert_id: text(certificate, 'cert_id'), node })
  }

  const revoke = async ({ cert_id }: Member): Promise<void> => {
    const reason = random.pick(REASONS)
    const answer = take(
      await process.as('privileged')('POST', '/admin/revoke', { cert_id, reason, all_of_key: false }),
      200,
    )
    if (answer === undefined) return
    acks.revoked(cert_id, reason)
    acks.lastSequence = Math.max(acks.lastSequence, Number(answer['crl_sequence']))
  }

  const readList = async (): Promise<void> => {
    const list = take(await process.request('GET', '/crl'), 200)
    if (list !== undefined) acks.lastSequence = Math.max(acks.lastSequence, Number(list['sequence']))
  }

  const step = async (): Promise<void> => {
    const member = members[random.below(Math.max(members.length, 1))]
    const dice = random.below(100)
    if (member === undefined || dice < 35)
      return join(member !== undefined && dice < 5 ? member.node.signer : await newSigner(random))
    if (dice < 60) return renew(member)
    if (dice < 85) return revoke(member)
    if (dice < 93) return readList()
    take(await member.node.heartbeat(member.cert_id), 200, NODE_REFUSALS)
  }

  const work = async (until: number): Promise<void> => {
    while (!isDead && performance.now() < until) {
      // A broken connection is the kill. The outcome of running calls is unknown, so they are not recorded.
      await step().catch(() => {
        isDead = true
      })
    }
  }

  return {
    violations,
    run: async (seconds) => {
      const until = performance.now() + seconds * 1000
      await Promise.all(Array.from({ length: WORKERS }, () => work(until)))
      return isDead
    },
  }
}
