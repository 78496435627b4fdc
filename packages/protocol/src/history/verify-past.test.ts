// oxlint-disable max-lines -- every row of the rule, with the records of one network
import { describe, expect, it } from 'vitest'
import { draftAttestation } from '../artifacts/attestation.ts'
import { draftCrl } from '../artifacts/crl.ts'
import { type GenesisBlock, draftGenesisBlock } from '../artifacts/genesis-block.ts'
import { draftJoinCertificate } from '../artifacts/join-certificate.ts'
import type { KeyHistory } from '../artifacts/key-history.ts'
import { draftRecognitionTreaty } from '../artifacts/recognition-treaty.ts'
import { draftRevocationFeed } from '../artifacts/revocation-feed.ts'
import { toBase64 } from '../canonical/base64.ts'
import { DAY, HOUR, type Instant, readInstant } from '../canonical/time.ts'
import { writeInstant } from '../canonical/write-time.ts'
import { FormError } from '../reading/schema.ts'
import { asJson, signList } from '../signing/verify-any.ts'
import { type Signer, seedSigner } from '../signing/keys.ts'
import { readTrustHistoryPage, trustHistoryJson, writeTrustHistoryPage } from './page-text.ts'
import type { HistoryPage, SavedLists } from './pages.ts'
import { digestOfRecord, fromAttestation, fromCertificate, fromTreaty, readSubject, subjectKindOf } from './subject.ts'
import type { TrustSubject } from './subject.ts'
import { type Standing, type TrustHistory, readTrustHistory } from './trust-history.ts'
import { verifyPastTrust } from './verify-past.ts'

const at = (text: string): Instant => readInstant(text) ?? 0n
const START = at('2030-01-01T00:00:00Z')
const ISSUED = at('2030-01-02T00:00:00Z')
const REVOKED = at('2030-01-02T06:00:00Z')
const STATED = at('2030-01-05T00:00:00Z')
const OWN = 'PAST-NET'
const NODE_KEY = 'vPWW8KlHWZam8algWIUjYgtx4HrNTCtKg9obu+iqYIU='

const signerOf = (id: string, number: number): Promise<Signer> =>
  seedSigner(id, toBase64(new Uint8Array(32).fill(number)))
const root = await signerOf('root', 1)
const na = await signerOf('na-1', 2)
const next = await signerOf('na-2', 3)
const partner = await signerOf('na-partner', 4)
const stranger = await signerOf('stranger', 5)

const blockOf = async (key: Signer, from: Instant): Promise<GenesisBlock> => {
  const network_authority = {
    public_key: key.publicKey,
    valid_from: writeInstant(from),
    valid_to: writeInstant(from + 90n * DAY),
  }
  return signList(draftGenesisBlock({ network_name: OWN, root_public_key: root.publicKey, network_authority }), root)
}
const genesis = await blockOf(na, START)
const SUCCEEDED = ISSUED + 12n * HOUR
const newGenesis = await blockOf(next, SUCCEEDED)
const keyHistory = (await signList(
  asJson({
    network_name: OWN,
    root_public_key: root.publicKey,
    issued_at: writeInstant(SUCCEEDED),
    former_keys: [
      {
        key_id: 'na-1',
        public_key: na.publicKey,
        valid_from: writeInstant(START),
        valid_to: writeInstant(SUCCEEDED),
      },
    ],
    signatures: [],
  }),
  root,
)) as unknown as KeyHistory

const certificate = await signList(
  draftJoinCertificate({
    cert_id: 'cert-1',
    node_public_key: NODE_KEY,
    network_name: OWN,
    roles: ['role:client'],
    issued_by: 'na-1',
    now: ISSUED,
    validityHours: 24,
  }),
  na,
)

const standingOf = (changes: Partial<Standing> = {}): Standing => ({
  kind: 'certificate',
  id: 'cert-1',
  issuer_sovereign_id: OWN,
  known: true,
  record_digest: digestOfRecord(certificate),
  is_revoked: false,
  revoked_at: null,
  reason: null,
  source: null,
  superseded_at: null,
  ...changes,
})

const REVOKED_THEN = { is_revoked: true, revoked_at: writeInstant(REVOKED), reason: 'unspecified' }

async function statementOf(
  standings: readonly Standing[],
  changes: Partial<TrustHistory> = {},
  signer = na,
): Promise<TrustHistory> {
  const draft = {
    history_id: 'h-1',
    network_name: OWN,
    issued_at: writeInstant(STATED),
    known_until: writeInstant(STATED - 10n),
    gaps: [],
    covers: null,
    treaties_with: null,
    standings,
    issued_by: signer.keyId,
    signatures: [],
    ...changes,
  }
  return readTrustHistory(asJson(await signList(asJson(draft), signer)))
}

const pageOf = (history: TrustHistory, more: Partial<HistoryPage> = {}): HistoryPage => ({
  keys: { genesis },
  history,
  certificates: [certificate],
  attestations: [],
  treaties: [],
  lists: [],
  feeds: [],
  ...more,
})

const CERTIFICATE: TrustSubject = { kind: 'certificate', id: 'cert-1' }

async function stateOf(pages: readonly HistoryPage[], time: Instant, subject = CERTIFICATE): Promise<string> {
  const { state, reason, notes } = await verifyPastTrust(subject, pages, time)
  // Two notes have tests below, and are true for most pages here.
  const others = notes.filter((note) => note !== 'statement_only' && note !== 'partner_feed_missing')
  return [state, reason, ...others].join(' ')
}

describe('a record of the authority', () => {
  it('is trusted from its beginning to before its end, by a statement', async () => {
    const pages = [pageOf(await statementOf([standingOf()]))]
    const end = ISSUED + 24n * HOUR
    expect(await stateOf(pages, ISSUED - 1n)).toBe('not_trusted not_yet_valid')
    expect(await stateOf(pages, ISSUED)).toBe('trusted in_force')
    expect(await stateOf(pages, end - 1n)).toBe('trusted in_force')
    expect(await stateOf(pages, end)).toBe('not_trusted expired')
  })

  it('is not trusted from the instant of its revocation or replacement', async () => {
    const revoked = [pageOf(await statementOf([standingOf(REVOKED_THEN)]))]
    expect(await stateOf(revoked, REVOKED - 1n)).toBe('trusted in_force')
    expect(await stateOf(revoked, REVOKED)).toBe('not_trusted revoked')
    const replaced = [pageOf(await statementOf([standingOf({ superseded_at: writeInstant(REVOKED) })]))]
    expect(await stateOf(replaced, REVOKED - 1n)).toBe('trusted in_force')
    expect(await stateOf(replaced, REVOKED)).toBe('not_trusted superseded')
  })

  it('is unknown without a statement that reaches the time, and never trusted', async () => {
    expect(await stateOf([], REVOKED)).toBe('unknown no_statement')
    expect(await stateOf([pageOf(await statementOf([]))], REVOKED)).toBe('unknown no_statement')
    const early = { known_until: writeInstant(REVOKED) }
    const recent = [pageOf(await statementOf([standingOf()], early))]
    expect(await stateOf(recent, REVOKED)).toBe('trusted in_force')
    expect(await stateOf(recent, REVOKED + 1n)).toBe('unknown too_recent')
    const removed = await statementOf([standingOf({ known: false, record_digest: null })])
    expect(await stateOf([pageOf(removed)], REVOKED)).toBe('unknown not_stored')
    const untimed = await statementOf([standingOf({ is_revoked: true })])
    expect(await stateOf([pageOf(untimed)], REVOKED)).toBe('unknown revocation_time_unknown')
    expect(await stateOf([pageOf(await statementOf([standingOf()]), { certificates: [] })], REVOKED)).toBe(
      'unknown record_missing',
    )
  })

  it('is unknown in a time of which changes may be lost, unless a record ends it', async () => {
    const gaps = [{ from: writeInstant(REVOKED), until: writeInstant(REVOKED + HOUR) }]
    const lost = [pageOf(await statementOf([standingOf()], { gaps }))]
    expect(await stateOf(lost, REVOKED - 1n)).toBe('trusted in_force')
    expect(await stateOf(lost, REVOKED)).toBe('unknown history_lost')
    expect(await stateOf(lost, REVOKED + HOUR - 1n)).toBe('unknown history_lost')
    expect(await stateOf(lost, REVOKED + HOUR)).toBe('trusted in_force')
    const ended = [pageOf(await statementOf([standingOf(REVOKED_THEN)], { gaps }))]
    expect(await stateOf(ended, REVOKED)).toBe('not_trusted revoked')
    const all = [{ from: null, until: writeInstant(REVOKED) }]
    expect(await stateOf([pageOf(await statementOf([standingOf()], { gaps: all }))], ISSUED)).toBe(
      'unknown history_lost',
    )
  })

  it('is not trusted when a signed list says so, whatever the statement says', async () => {
    const entry = {
      certificate_id: 'cert-1',
      revoked_at: writeInstant(REVOKED),
      reason: 'unspecified',
      issuer: 'na-1',
    } as const
    const draft = draftCrl({ crl_id: 'crl-1', sequence: 7, issuer: 'na-1', now: REVOKED, entries: [entry] })
    const listed = pageOf(await statementOf([standingOf()]), { lists: [await signList(draft, na)] })
    expect(await stateOf([listed], REVOKED)).toBe('not_trusted revoked records_disagree')
    expect(await stateOf([listed], REVOKED - 1n)).toBe('trusted in_force')
    const forged = pageOf(await statementOf([standingOf()]), { lists: [await signList(draft, stranger)] })
    expect(await stateOf([forged], REVOKED)).toBe('trusted in_force refused_records')
  })

  it('takes nothing from a statement of another key, of another network, or changed after its signature', async () => {
    const forged = pageOf(await statementOf([standingOf()], {}, stranger))
    expect(await stateOf([forged], REVOKED)).toBe('unknown no_statement refused_records')
    const other = pageOf(await statementOf([standingOf()], { network_name: 'OTHER-NET' }))
    expect(await stateOf([other], REVOKED)).toBe('unknown no_statement refused_records')
    const signed = await statementOf([standingOf(REVOKED_THEN)])
    const changed = pageOf({ ...signed, standings: [standingOf()] })
    expect(await stateOf([changed], REVOKED)).toBe('unknown no_statement refused_records')
    // Outside the period of the key.
    const late = pageOf(await statementOf([standingOf()], { issued_at: writeInstant(START + 91n * DAY) }))
    expect(await stateOf([late], REVOKED)).toBe('unknown no_statement refused_records')
  })

  it('counts with the key of its time, before and after a succession', async () => {
    const after = { issued_by: 'na-2', issued_at: writeInstant(STATED) }
    const history = await statementOf([standingOf()], after, next)
    const keys = { genesis: newGenesis, history: keyHistory }
    expect(await stateOf([pageOf(history, { keys })], REVOKED)).toBe('trusted in_force')
    expect(await stateOf([pageOf(history, { keys: { genesis: newGenesis } })], REVOKED)).toBe('unknown key_unknown')
    const before = { issued_at: writeInstant(SUCCEEDED - 1n), known_until: writeInstant(REVOKED) }
    const archived = await statementOf([standingOf()], before, na)
    expect(await stateOf([pageOf(archived, { keys })], REVOKED)).toBe('trusted in_force former_key')
    // The former key cannot state anything after its time.
    const thief = await statementOf([standingOf()], {}, na)
    expect(await stateOf([pageOf(thief, { keys })], REVOKED)).toBe('unknown no_statement refused_records')
  })

  it('is the one that is given: another record with its id proves nothing', async () => {
    const page = pageOf(await statementOf([standingOf()]))
    const facts = { ...certificate, roles: ['role:operator'], signatures: [] }
    const twin = fromCertificate(await signList(facts, na))
    expect(await stateOf([page], REVOKED, { ...CERTIFICATE, given: twin })).toBe('unknown other_record')
    const forged = fromCertificate(await signList(facts, stranger))
    expect(await stateOf([page], REVOKED, { ...CERTIFICATE, given: forged })).toBe('not_trusted invalid_signature')
    const foreign = fromCertificate(await signList({ ...facts, network_name: 'OTHER-NET' }, na))
    expect(await stateOf([page], REVOKED, { ...CERTIFICATE, given: foreign })).toBe('not_trusted other_network')
  })

  it('is unknown when two signed records have its id, and a forged one is left out', async () => {
    const twin = await signList({ ...certificate, roles: ['role:operator'], signatures: [] }, na)
    const forged = await signList({ ...certificate, roles: ['role:anchor'], signatures: [] }, stranger)
    const history = await statementOf([standingOf()])
    expect(await stateOf([pageOf(history, { certificates: [certificate, twin] })], REVOKED)).toBe('unknown two_records')
    expect(await stateOf([pageOf(history, { certificates: [forged, certificate] })], REVOKED)).toBe('trusted in_force')
    const ended = await statementOf([standingOf(REVOKED_THEN)])
    expect(await stateOf([pageOf(ended, { certificates: [certificate, twin] })], REVOKED)).toBe('not_trusted revoked')
  })

  it('is proven by one of several statements, and ended by any of them', async () => {
    const older = pageOf(await statementOf([standingOf()], { known_until: writeInstant(ISSUED) }))
    const newer = pageOf(await statementOf([standingOf()]))
    expect(await stateOf([older, newer], REVOKED)).toBe('trusted in_force')
    const ended = pageOf(await statementOf([standingOf(REVOKED_THEN)]))
    expect(await stateOf([newer, ended], REVOKED)).toBe('not_trusted revoked records_disagree')
  })
})

const attestation = await signList(
  draftAttestation({
    attestation_id: 'member-1',
    issuer_sovereign_id: 'PARTNER-NET',
    subject_id: 'agent',
    subject_public_key: null,
    roles: ['role:client'],
    claims: {},
    issued_by: partner.keyId,
    now: ISSUED,
    validityHours: 24,
  }),
  partner,
)
const treaty = await signList(
  draftRecognitionTreaty({
    treaty_id: 'treaty-1',
    issuer_sovereign_id: OWN,
    subject_sovereign_id: 'PARTNER-NET',
    subject_public_keys: [partner.publicKey],
    scope: { allowed_roles: ['role:client'], accepted_statuses: ['active'], claims: {} },
    metadata: {},
    issued_by: 'na-1',
    now: ISSUED,
    validityHours: 12,
  }),
  na,
)
const MEMBER: TrustSubject = { kind: 'attestation', id: 'member-1', given: fromAttestation(attestation) }
const treatyStanding = standingOf({ kind: 'treaty', id: 'treaty-1', record_digest: digestOfRecord(treaty) })
const importedStanding = standingOf({
  kind: 'imported_attestation',
  id: 'member-1',
  issuer_sovereign_id: 'PARTNER-NET',
  record_digest: null,
})

describe("a partner's attestation", () => {
  const withTreaty = { certificates: [], treaties: [treaty] }
  const all = { treaties_with: 'PARTNER-NET' }

  it('is trusted while a treaty accepts it, until a feed that names it is imported', async () => {
    const pages = [pageOf(await statementOf([importedStanding, treatyStanding], all), withTreaty)]
    expect(await stateOf(pages, ISSUED, MEMBER)).toBe('trusted in_force')
    expect(await stateOf(pages, ISSUED + 12n * HOUR, MEMBER)).toBe('not_trusted no_treaty')
    const imported = { ...importedStanding, ...REVOKED_THEN }
    const revoked = [pageOf(await statementOf([imported, treatyStanding], all), withTreaty)]
    expect(await stateOf(revoked, REVOKED - 1n, MEMBER)).toBe('trusted in_force')
    expect(await stateOf(revoked, REVOKED, MEMBER)).toBe('not_trusted revoked')
    const ended = { ...treatyStanding, ...REVOKED_THEN }
    const over = [pageOf(await statementOf([importedStanding, ended], all), withTreaty)]
    expect(await stateOf(over, REVOKED, MEMBER)).toBe('not_trusted no_treaty')
  })

  it('is unknown when a treaty or the state of its revocation is missing', async () => {
    const unstated = [pageOf(await statementOf([treatyStanding], all), withTreaty)]
    expect(await stateOf(unstated, REVOKED, MEMBER)).toBe('unknown no_statement')
    const some = [pageOf(await statementOf([importedStanding]), { certificates: [] })]
    expect(await stateOf(some, REVOKED, MEMBER)).toBe('unknown treaties_missing')
    // A named treaty whose record was left out could have accepted it.
    const cut = [pageOf(await statementOf([importedStanding, treatyStanding], all), { certificates: [] })]
    expect(await stateOf(cut, REVOKED, MEMBER)).toBe('unknown treaties_missing')
    const none = [pageOf(await statementOf([importedStanding], all), { certificates: [] })]
    expect(await stateOf(none, REVOKED, MEMBER)).toBe('not_trusted no_treaty')
    expect(await stateOf(none, REVOKED, { ...MEMBER, given: undefined, issuer: 'PARTNER-NET' })).toBe(
      'unknown record_missing',
    )
  })

  it('needs a key, the roles and the status that the treaty accepts', async () => {
    const pages = [pageOf(await statementOf([importedStanding, treatyStanding], all), withTreaty)]
    const given = async (changes: object, signer = partner): Promise<TrustSubject> => {
      const record = await signList({ ...attestation, ...changes, signatures: [] }, signer)
      return { ...MEMBER, given: fromAttestation(record) }
    }
    expect(await stateOf(pages, REVOKED, await given({ roles: ['role:operator'] }))).toBe(
      'not_trusted role_not_allowed',
    )
    expect(await stateOf(pages, REVOKED, await given({ roles: [] }))).toBe('not_trusted role_not_allowed')
    expect(await stateOf(pages, REVOKED, await given({}, stranger))).toBe('not_trusted invalid_signature')
    expect(await stateOf(pages, REVOKED, await given({ status: 'suspended' }))).toBe('not_trusted bad_status')
  })

  it('is not accepted by a treaty with another partner, also if it has the id of that treaty', async () => {
    const facts = { ...attestation, attestation_id: 'treaty-1', issuer_sovereign_id: 'OTHER-NET', signatures: [] }
    const given = fromAttestation(await signList(facts, partner))
    const imported = { ...importedStanding, id: 'treaty-1', issuer_sovereign_id: 'OTHER-NET' }
    const history = await statementOf([imported, treatyStanding], { treaties_with: 'OTHER-NET' })
    const asked: TrustSubject = { kind: 'attestation', id: 'treaty-1', given }
    expect(await stateOf([pageOf(history, withTreaty)], ISSUED, asked)).toBe('not_trusted no_treaty')
  })

  it('is answered by pages that follow each other from the beginning to the end', async () => {
    const place = (id: string) => ({ issuer_sovereign_id: 'PARTNER-NET', id })
    const kind = 'imported_attestation'
    const first = pageOf(
      await statementOf([{ ...importedStanding, id: 'a', ...REVOKED_THEN }], {
        covers: { kind, after: null, through: place('a') },
      }),
    )
    const last = pageOf(await statementOf([], { covers: { kind, after: place('a'), through: null } }))
    const treaties = pageOf(
      await statementOf([treatyStanding], { covers: { kind: 'treaty', after: null, through: null } }),
      withTreaty,
    )
    const members = pageOf(await statementOf([], { covers: { kind: 'attestation', after: null, through: null } }))
    expect(await stateOf([first, last, members, treaties], REVOKED, MEMBER)).toBe('trusted in_force')
    expect(await stateOf([first, last, treaties], REVOKED, MEMBER)).toBe('unknown no_statement')
    expect(await stateOf([last, members, treaties], REVOKED, MEMBER)).toBe('unknown no_statement')
    expect(await stateOf([first, members, treaties], REVOKED, MEMBER)).toBe('unknown no_statement')
    expect(await stateOf([first, last, members, treaties], ISSUED + 12n * HOUR, MEMBER)).toBe('not_trusted no_treaty')
    expect(await stateOf([first, last, members], REVOKED, MEMBER)).toBe('unknown treaties_missing')
    const early = { known_until: writeInstant(ISSUED), covers: { kind, after: place('a'), through: null } } as const
    expect(await stateOf([first, pageOf(await statementOf([], early)), members, treaties], REVOKED, MEMBER)).toBe(
      'unknown too_recent',
    )
  })

  it('is not trusted once a recognition policy names its id, or an attestation of the authority has it', async () => {
    const whole = (kind: 'attestation' | 'imported_attestation' | 'treaty') => ({
      covers: { kind, after: null, through: null },
    })
    const treaties = pageOf(await statementOf([treatyStanding], whole('treaty')), withTreaty)
    const [imports, members] = [
      pageOf(await statementOf([], whole('imported_attestation'))),
      pageOf(await statementOf([], whole('attestation'))),
    ]
    expect(await stateOf([imports, members, treaties], REVOKED, MEMBER)).toBe('trusted in_force')
    const named = { ...importedStanding, issuer_sovereign_id: OWN, ...REVOKED_THEN }
    const policies = pageOf(await statementOf([named], whole('imported_attestation')))
    expect(await stateOf([policies, members, treaties], REVOKED - 1n, MEMBER)).toBe('trusted in_force')
    expect(await stateOf([policies, members, treaties], REVOKED, MEMBER)).toBe('not_trusted revoked')
    // A page that names the id later proves nothing in place of the others.
    expect(await stateOf([pageOf(await statementOf([named])), treaties], REVOKED - 1n, MEMBER)).toBe(
      'unknown no_statement',
    )
    const twin = await signList(
      { ...attestation, issuer_sovereign_id: OWN, issued_at: writeInstant(REVOKED), signatures: [] },
      na,
    )
    const twinStanding = standingOf({ kind: 'attestation', id: 'member-1', record_digest: digestOfRecord(twin) })
    const stored = await statementOf([twinStanding], whole('attestation'))
    const own = pageOf(stored, { attestations: [twin] })
    expect(await stateOf([imports, own, treaties], REVOKED - 1n, MEMBER)).toBe('trusted in_force')
    expect(await stateOf([imports, own, treaties], REVOKED, MEMBER)).toBe('not_trusted revoked')
    expect(await stateOf([imports, pageOf(stored), treaties], REVOKED, MEMBER)).toBe('unknown revocation_time_unknown')
  })

  it('has a note when the partner had revoked it before the import', async () => {
    const draft = draftRevocationFeed({
      feed_id: 'feed-1',
      issuer_sovereign_id: 'PARTNER-NET',
      sequence: 1,
      issued_at: writeInstant(REVOKED - HOUR),
      reasons: new Map([['member-1', 'left']]),
      issued_by: partner.keyId,
    })
    const imported = { ...importedStanding, ...REVOKED_THEN }
    const history = await statementOf([imported, treatyStanding], all)
    const feeds = [await signList(draft, partner)]
    expect(await stateOf([pageOf(history, { ...withTreaty, feeds })], REVOKED - 1n, MEMBER)).toBe(
      'trusted in_force partner_revoked_before',
    )
    const forged = [await signList(draft, stranger)]
    expect(await stateOf([pageOf(history, { ...withTreaty, feeds: forged })], REVOKED - 1n, MEMBER)).toBe(
      'trusted in_force',
    )
  })
})

describe('lists and feeds of the time', () => {
  const notesOf = async (page: HistoryPage, subject: TrustSubject, time: Instant, saved?: SavedLists) => {
    const { state, notes } = await verifyPastTrust(subject, [page], time, saved)
    return [state, ...notes].join(' ')
  }

  it('are missing in a note, unless one is in force', async () => {
    const page = pageOf(await statementOf([standingOf()]))
    const list = await signList(
      draftCrl({ crl_id: 'crl-1', sequence: 1, issuer: 'na-1', now: REVOKED, entries: [] }),
      na,
    )
    expect(await notesOf(page, CERTIFICATE, REVOKED)).toBe('trusted statement_only')
    expect(await notesOf({ ...page, lists: [list] }, CERTIFICATE, REVOKED)).toBe('trusted')
    expect(await notesOf({ ...page, lists: [list] }, CERTIFICATE, REVOKED - 1n)).toBe('trusted statement_only')
    const over = { ...list, issued_at: writeInstant(START), next_update: writeInstant(REVOKED), signatures: [] }
    const ended = await signList(over, na)
    expect(await notesOf({ ...page, lists: [ended] }, CERTIFICATE, REVOKED)).toBe('trusted statement_only')
    expect(await notesOf(page, CERTIFICATE, REVOKED, { lists: [list], feeds: [] })).toBe('trusted')
    const forged = await signList({ ...list, signatures: [] }, stranger)
    expect(await notesOf(page, CERTIFICATE, REVOKED, { lists: [forged], feeds: [] })).toBe(
      'trusted statement_only refused_records',
    )
  })

  it('that a caller saved end a record', async () => {
    const entry = { certificate_id: 'cert-1', revoked_at: writeInstant(REVOKED), issuer: 'na-1' }
    const draft = draftCrl({
      crl_id: 'crl-1',
      sequence: 1,
      issuer: 'na-1',
      now: REVOKED,
      entries: [{ ...entry, reason: 'unspecified' }],
    })
    const saved = { lists: [await signList(draft, na)], feeds: [] }
    const page = pageOf(await statementOf([standingOf()]))
    expect(await notesOf(page, CERTIFICATE, REVOKED, saved)).toBe('not_trusted records_disagree')
  })

  it('of a partner are missing in a note, unless it had signed one by then', async () => {
    const more = { certificates: [], treaties: [treaty] }
    const history = await statementOf([importedStanding, treatyStanding], { treaties_with: 'PARTNER-NET' })
    const draft = draftRevocationFeed({
      feed_id: 'feed-1',
      issuer_sovereign_id: 'PARTNER-NET',
      sequence: 1,
      issued_at: writeInstant(REVOKED),
      reasons: new Map(),
      issued_by: partner.keyId,
    })
    const saved = async (signer: Signer) => ({ lists: [], feeds: [await signList(draft, signer)] })
    const page = pageOf(history, more)
    expect(await notesOf(page, MEMBER, REVOKED)).toBe('trusted partner_feed_missing')
    expect(await notesOf(page, MEMBER, REVOKED, await saved(partner))).toBe('trusted')
    expect(await notesOf(page, MEMBER, REVOKED, await saved(stranger))).toBe('trusted partner_feed_missing')
    expect(await notesOf(page, MEMBER, REVOKED - 1n, await saved(partner))).toBe('trusted partner_feed_missing')
  })
})

describe('pages as text', () => {
  it('are read as they were written, and refused with other members or versions', async () => {
    const { keys: _keys, ...page } = pageOf(await statementOf([standingOf(REVOKED_THEN)]))
    const written = { ...page, genesis, key_history: keyHistory }
    expect(writeTrustHistoryPage(readTrustHistoryPage(trustHistoryJson(written)))).toBe(writeTrustHistoryPage(written))
    for (const change of [{ version: 2 }, { format: 'other' }, { extra: 1 }])
      expect(() => readTrustHistoryPage({ ...trustHistoryJson(written), ...change })).toThrow(FormError)
  })

  it('are refused when a statement has a record twice, or a time without a revocation, or is later than itself', async () => {
    const signed = await statementOf([standingOf()])
    for (const change of [
      { standings: [standingOf(), standingOf()] },
      { standings: [standingOf({ revoked_at: writeInstant(REVOKED) })] },
      { known_until: writeInstant(STATED + 1n) },
    ])
      expect(() => readTrustHistory(asJson({ ...signed, ...change }))).toThrow(FormError)
  })

  it('name the kind of a record by its id', () => {
    for (const [record, kind] of [
      [certificate, 'certificate'],
      [attestation, 'attestation'],
      [treaty, 'treaty'],
    ] as const) {
      expect(subjectKindOf(asJson(record))).toBe(kind)
      expect(readSubject(kind, asJson(record)).digest).toBe(digestOfRecord(record))
    }
    expect(subjectKindOf({})).toBeUndefined()
    expect(fromTreaty(treaty).until - fromTreaty(treaty).from).toBe(12n * HOUR)
  })
})
