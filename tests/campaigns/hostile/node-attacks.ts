import { writeJson } from '@chancery/protocol'
import { type Attack, outcomeOf } from './authority-attacks.ts'
import { isAllowed, isOk, joined, member } from './members.ts'
import type { AuthoritySetup } from './setup.ts'
import { type RawResponse, post } from './raw-requests.ts'

const RENEWALS_PER_HOUR = 6

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

/** Before the end of the grace of a renewal both certificates live. */
const relatives: Attack<AuthoritySetup> = {
  name: 'certificates before and after a revoked one',
  async run(setup, from, random) {
    const { url } = setup
    const { node, certId, ask } = await member(setup, from)
    const send = async (path: string, cert_id: string): Promise<RawResponse> =>
      post({ url, from }, { path, body: writeJson(await node.prove({ cert_id })) })
    const renewed = await send('/renew', certId)
    const second = /"cert_id":"([^"]+)"/.exec(renewed.text)?.[1] ?? ''
    setup.revocations += 1
    const body = { cert_id: random.pick([certId, second, second]), reason: 'cessation_of_operation' }
    const all = random.chance(30) ? { all_of_key: true } : {}
    const revoked = await setup.authority.as('privileged')('POST', '/admin/revoke', { ...body, ...all }, { from })
    const [beats, more] = [
      [await send('/heartbeat', certId), await send('/heartbeat', second)],
      [await send('/renew', certId), await send('/renew', second)],
    ]
    const decisions = [await ask('ledger.read'), await ask('ledger.read', {}, second)]
    const complaints = [...beats, ...more].some(isOk) ? ['a certificate of a revoked key goes on'] : []
    if (decisions.some(isAllowed)) complaints.push('a revoked node got an allowed decision')
    if (!isOk(renewed)) complaints.push(`the renewal was answered with ${renewed.status}`)
    if (revoked.status !== 200) complaints.push(`the revocation was answered with ${revoked.status}`)
    return outcomeOf([renewed, ...beats, ...more, ...decisions], complaints)
  },
}

export const NODE_ATTACKS = [renewals, relatives, relatives] as const
