import { writeJson } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { accepted, nodeCaller, testSigner } from '@chancery/testkit'
import type { NodeCaller } from '@chancery/testkit'
import type { Attack } from './authority-attacks.ts'
import { outcomeOf } from './authority-attacks.ts'
import type { AuthoritySetup } from './setup.ts'
import { post } from './raw-requests.ts'
import type { RawResponse } from './raw-requests.ts'

const RENEWALS_PER_HOUR = 6
let nodes = 0

/** Creates a new node for each case. The inviting operator has another address. */
async function joined(setup: AuthoritySetup, from: string): Promise<{ node: NodeCaller; certId: string }> {
  nodes += 1
  const node = nodeCaller(setup.url, await testSigner(`hostile-${setup.backend}-${process.pid}-${nodes}`), () =>
    systemClock.now(),
  )
  const operator = setup.authority.as('privileged')
  const token = accepted(await operator('POST', '/admin/invite', {}, { from }), 201)['token_id'] as string
  const certificate = accepted(await node.join(token, {}, { from }), 201)
  return { node, certId: certificate['cert_id'] as string }
}

const renewals: Attack<AuthoritySetup> = {
  name: 'renewals in a loop',
  async run(setup, from, random) {
    const { node, certId } = await joined(setup, from)
    let [current, renewed] = [certId, 0]
    const answers: RawResponse[] = []
    for (let turn = 0; turn < 3 + random.below(7); turn += 1) {
      const body = writeJson(await node.prove({ cert_id: current }))
      const answer = await post({ url: setup.url, from }, { path: '/renew', body })
      answers.push(answer)
      if (answer.status < 200 || answer.status > 299) continue
      renewed += 1
      current = /"cert_id":"([^"]+)"/.exec(answer.text)?.[1] ?? current
    }
    return outcomeOf(answers, renewed > RENEWALS_PER_HOUR ? [`${renewed} renewals of one key`] : [])
  },
}

const siblings: Attack<AuthoritySetup> = {
  name: 'siblings of a revoked certificate',
  async run(setup, from) {
    const { node, certId } = await joined(setup, from)
    const renewed = await post(
      { url: setup.url, from },
      { path: '/renew', body: writeJson(await node.prove({ cert_id: certId })) },
    )
    const second = /"cert_id":"([^"]+)"/.exec(renewed.text)?.[1] ?? ''
    setup.revocations += 1
    const revoked = await setup.authority.as('privileged')(
      'POST',
      '/admin/revoke',
      { cert_id: certId, reason: 'cessation_of_operation', all_of_key: true },
      { from },
    )
    const beat = async (cert_id: string): Promise<RawResponse> =>
      post({ url: setup.url, from }, { path: '/heartbeat', body: writeJson(await node.prove({ cert_id })) })
    const beats = [await beat(certId), await beat(second)]
    const complaints = beats.some(({ status }) => status === 200) ? ['a certificate of a revoked key goes on'] : []
    if (revoked.status !== 200) complaints.push(`the revocation was answered with ${revoked.status}`)
    return outcomeOf([renewed, ...beats], complaints)
  },
}

export const NODE_ATTACKS = [renewals, siblings] as const
