import { type JsonObject, readJson, writeJson } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { type NodeCaller, accepted, nodeCaller, testSigner } from '@chancery/testkit'
import { FACT_CAPABILITY } from './policies.ts'
import type { AuthoritySetup } from './setup.ts'
import { type RawResponse, post } from './raw-requests.ts'

let nodes = 0

export interface JoinedNode {
  readonly node: NodeCaller
  readonly certId: string
}

/** Creates a new node for each case. The inviting operator has another address. */
export async function joined(
  setup: Pick<AuthoritySetup, 'backend' | 'url' | 'authority'>,
  from: string,
): Promise<JoinedNode> {
  nodes += 1
  const node = nodeCaller(setup.url, await testSigner(`hostile-${setup.backend}-${process.pid}-${nodes}`), () =>
    systemClock.now(),
  )
  const operator = setup.authority.as('privileged')
  const token = accepted(await operator('POST', '/admin/invite', {}, { from }), 201)['token_id'] as string
  const certificate = accepted(await node.join(token, {}, { from }), 201)
  return { node, certId: certificate['cert_id'] as string }
}

/** A node that may ask for decisions about itself. A policy covers `ledger.read` up to an amount of 1000. */
export interface Member extends JoinedNode {
  readonly attestationId: string
  readonly ask: (capability: string, parameters?: JsonObject, certId?: string) => Promise<RawResponse>
}

export async function member(setup: AuthoritySetup, from: string): Promise<Member> {
  const { node, certId } = await joined(setup, from)
  const { url, network } = setup
  const body = {
    subject_id: 'member',
    roles: ['role:client'],
    subject_public_key: node.key,
    claims: { capabilities: ['ledger.read', 'vault.open', FACT_CAPABILITY] },
  }
  const issued = await setup.authority.as('privileged')('POST', '/admin/attestations', body, { from })
  const attestationId = accepted(issued, 201)['attestation_id'] as string
  const named = { action: 'boundary-request', audience: network.authority.publicKey, attestation_id: attestationId }
  return {
    node,
    certId,
    attestationId,
    ask: async (requested_capability, parameters = {}, cert_id = certId) => {
      const context = { request_parameters: { amount: 5, ...parameters } }
      const asked = await node.prove({ ...named, cert_id, requested_capability, context })
      return post({ url, from }, { path: '/boundary/request', body: writeJson(asked) })
    },
  }
}

/** The members of a response; none when it is no JSON object. */
export function membersOf({ text }: Pick<RawResponse, 'text'>): JsonObject {
  try {
    return readJson(text) as JsonObject
  } catch {
    return {}
  }
}

export function isAllowed(answer: RawResponse): boolean {
  const decision = membersOf(answer)['decision'] as JsonObject | undefined
  return answer.status === 201 && decision?.['authorized'] === true
}

export function isOk({ status }: RawResponse): boolean {
  return status >= 200 && status < 300
}
