import { setTimeout as pause } from 'node:timers/promises'
import { type JsonObject, merkleLeaf, writeJson } from '@chancery/protocol'
import { accepted } from '@chancery/testkit'
import { type Attack, outcomeOf } from './authority-attacks.ts'
import { isAllowed, isOk, member, membersOf } from './members.ts'
import { type AuthoritySetup, DAILY_BYTES, decider } from './setup.ts'
import { type RawResponse, post } from './raw-requests.ts'

/** Between two responses on two connections, on a busy machine. */
const TOLERANCE_MS = 50

const oversized: Attack<AuthoritySetup> = {
  name: 'large contexts',
  async run(setup, from, random) {
    const { ask } = await member(setup, from)
    const other = await member(setup, from)
    const large = await ask('ledger.read', { x: random.pick(['x', 'é']).repeat(17_000 + random.below(180_000)) })
    const complaints = large.status === 413 ? [] : [`a large context was answered with ${large.status}`]
    // Denied requests are stored, too, and end at the quota of the key.
    const answers = [large]
    const most = Math.ceil(DAILY_BYTES / 12_000) + 1
    while (answers.at(-1)?.status !== 429 && answers.length <= most)
      answers.push(await ask('nothing.allowed', { x: 'x'.repeat(12_000) }))
    if (answers.at(-1)?.status !== 429) complaints.push(`one key stored ${answers.length} large requests`)
    const spared = await other.ask('ledger.read')
    if (!isAllowed(spared)) complaints.push(`another node was answered with ${spared.status}`)
    return outcomeOf([...answers, spared], complaints)
  },
}

const uncovered: Attack<AuthoritySetup> = {
  name: 'requests that no policy covers',
  async run(setup, from, random) {
    const { ask, attestationId } = await member(setup, from)
    const answers = [await ask('vault.open'), await ask('ledger.read', { amount: 1001 + random.below(1e6) })]
    const asked = { attestation_id: attestationId, requested_capability: 'vault.open' }
    const operator = await decider(setup, random)
    const evaluated = await operator('POST', '/admin/boundary/evaluate', asked, { from })
    const complaints = [...answers, evaluated].some(isAllowed) ? ['a request was allowed without a policy'] : []
    const covered = await ask('ledger.read')
    if (!isAllowed(covered)) complaints.push(`a covered request was answered with ${covered.status}`)
    return outcomeOf([...answers, evaluated, covered], complaints)
  },
}

const lateDecisions: Attack<AuthoritySetup> = {
  name: 'decisions around a revocation',
  async run(setup, from, random) {
    const { certId, attestationId, ask } = await member(setup, from)
    const first = await ask('ledger.read')
    const [answers, complaints] = [[first], isAllowed(first) ? [] : ['no decision was allowed before']]
    let revokedAt = Number.POSITIVE_INFINITY
    const lane = async (): Promise<void> => {
      for (let isOver = false; !isOver && answers.length < 60;) {
        const sentAt = performance.now()
        isOver = sentAt > revokedAt
        const answer = await ask('ledger.read')
        const lateMs = performance.now() - revokedAt
        answers.push(answer)
        if (!isAllowed(answer)) continue
        if (isOver) complaints.push('a request after a revocation was allowed')
        else if (lateMs > TOLERANCE_MS)
          complaints.push(`a decision was allowed ${Math.round(lateMs)} ms after a revocation`)
      }
    }
    const isNode = random.chance(50)
    const [path, body]: [string, JsonObject] = isNode
      ? ['/admin/revoke', { cert_id: certId, reason: 'key_compromise' }]
      : [`/admin/attestations/${attestationId}/revoke`, {}]
    if (isNode) setup.revocations += 1
    const revoke = async (): Promise<void> => {
      await pause(random.below(120))
      const answer = await setup.authority.as('privileged')('POST', path, body, { from })
      revokedAt = performance.now()
      if (!isOk(answer)) complaints.push(`the revocation was answered with ${answer.status}`)
    }
    await Promise.all([revoke(), ...Array.from({ length: 6 }, lane)])
    return outcomeOf(answers, complaints)
  },
}

const guessedNames: Attack<AuthoritySetup> = {
  name: 'guessed names of a commitment',
  async run({ authority, agreement, agreed, url }, from, random) {
    const salted = random.chance(70)
    const body = { capabilities: agreed, agreement, ...(salted ? { salted: true } : {}) }
    const made = accepted(await authority.as('standard')('POST', '/admin/disclosure/commit', body, { from }), 201)
    const commitment = (salted ? made['commitment'] : made) as JsonObject
    const [shown = '', ...hidden] = agreed
    const seed = salted ? { seed: made['seed'] ?? null } : {}
    const named = { capabilities: agreed, commitment, prover_sovereign_id: 'PARTNER-NET' }
    const prove = (capability: string, more: JsonObject): Promise<RawResponse> =>
      post({ url, from }, { path: '/disclosure/prove', body: writeJson({ ...named, capability, ...more }) })
    const proved = await prove(shown, seed)
    const proof = membersOf(proved)
    const verify = await post({ url, from }, { path: '/disclosure/verify', body: writeJson({ proof, commitment }) })
    const complaints = membersOf(verify)['valid'] === true ? [] : [`a proof is not valid: ${verify.text.slice(0, 200)}`]
    // What the partner has: the commitment and a proof of one name.
    const has = JSON.stringify([commitment, proof])
    if (salted && hidden.some((name) => has.includes(merkleLeaf(name)) || has.includes(name)))
      complaints.push('a hidden name can be guessed from a salted commitment')
    const guesses = [await prove(random.pick(['ledger.append', 'ledger.close']), {})]
    guesses.push(await prove(shown, { seed: 'ab'.repeat(32) }))
    if (salted && guesses.some(isOk)) complaints.push('the authority confirms a guess without the seed')
    if ((membersOf(verify)['warning'] === undefined) !== salted) complaints.push('the label of the form is wrong')
    return outcomeOf([proved, verify, ...guesses], complaints)
  },
}

export const DECISION_ATTACKS = [oversized, uncovered, lateDecisions, lateDecisions, guessedNames] as const
