import { logIdentityForm, shape } from '@chancery/protocol'
import type { AnswerOf } from '../form.ts'
import { count, flag, listOf, record, text, texts, whole } from '../members.ts'
import { type Routes, routes } from '../route.ts'

const { nullable, oneOf, open, required } = shape

const textOrNull = required(nullable(shape.string))

const facts = {
  describe: {
    id: 'GET /evidence-log',
    access: 'public',
    limit: 'public',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Name, keys and witnesses of the evidence log',
    purpose: 'Returns the name and the keys of the log with the signed record of both, and the keys of its witnesses.',
    errors: ['evidence_store_disabled', 'not_found'],
    answer: open({
      origin: text,
      tree_size: whole,
      /** Keys that sign the log, as verifier keys (C2SP signed-note). */
      verifier_keys: texts,
      log_identity: required(record('log-identity', logIdentityForm.read)),
      /** Verifier keys of the witnesses that are asked. */
      witnesses: texts,
      quorum: whole,
    }),
  },
  checkpoint: {
    id: 'GET /evidence-log/checkpoint',
    access: 'public',
    limit: 'public',
    stability: 'beta',
    success: 200,
    response: 'note',
    summary: 'Checkpoint of the evidence log',
    purpose: 'Returns size and root of the log as a signed note that anyone can store.',
    errors: ['evidence_store_disabled', 'not_found'],
  },
  cosigned: {
    id: 'GET /evidence-log/cosigned-checkpoint',
    access: 'public',
    limit: 'public',
    stability: 'beta',
    success: 200,
    response: 'note',
    summary: 'Cosigned checkpoint of the evidence log',
    purpose: 'Returns the last checkpoint that witnesses cosigned, with their signatures.',
    errors: ['evidence_store_disabled', 'not_found'],
  },
  tile: {
    id: 'GET /evidence-log/tile/{tile}',
    access: 'public',
    limit: 'public',
    stability: 'beta',
    success: 200,
    response: 'tile',
    summary: 'Hash or entry tile of the evidence log',
    purpose: 'Gives hashes from which proofs are computed, or, as entries/…, the digests that are the entries.',
    errors: ['evidence_store_disabled', 'not_found'],
    tail: true,
  },
  // Envelopes name members, so they are for operators only; the hashes above reveal nothing.
  entries: {
    id: 'GET /admin/evidence-log/entries/{tile}',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'beta',
    success: 200,
    response: 'tile',
    summary: 'Entry bundle of the evidence log',
    purpose: 'Gives the envelopes of the hashes of a tile while they are stored.',
    errors: ['evidence_store_disabled', 'not_found'],
    tail: true,
  },
  receipt: {
    id: 'GET /admin/evidence-log/receipts/{decision_id}',
    access: 'operator:standard',
    limit: 'operator_read',
    stability: 'beta',
    success: 200,
    response: 'receipt',
    summary: 'COSE receipt of a decision',
    purpose: 'Returns a signed statement that the decision is in the log, for verifiers of COSE receipts.',
    errors: ['evidence_store_disabled', 'not_found'],
  },
  witnesses: {
    id: 'GET /admin/evidence-log/witnesses',
    access: 'operator:standard',
    limit: 'operator_read',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'State of the witnesses of the evidence log',
    purpose: 'Returns what each witness cosigned last, why it failed, and alarms.',
    errors: ['evidence_store_disabled'],
    answer: open({
      tree_size: whole,
      quorum: whole,
      cosigned_size: whole,
      cosigners: whole,
      /** Since when a checkpoint lacks the quorum; null when none does. */
      pending_since: textOrNull,
      witnesses: listOf(
        open({
          name: text,
          /** Null for a witness that is no longer asked, but has an alarm. */
          url: textOrNull,
          known_size: whole,
          cosigned_at: textOrNull,
          tried_at: textOrNull,
          failure: textOrNull,
          alarm: required(nullable(oneOf('rolled_back', 'forked'))),
          alarm_at: textOrNull,
          alarm_size: required(nullable(count)),
          /** The witness holds a checkpoint with the signature of the authority that contradicts the log. */
          proven: flag,
        }),
      ),
    }),
  },
} as const

/** The evidence store as a transparency log; disabled with the store (protocol/trust-operations 6.13). */
export const evidenceLog: Routes<typeof facts> = routes(facts)

export type LogDescription = AnswerOf<typeof evidenceLog.describe>
export type LogWitnesses = AnswerOf<typeof evidenceLog.witnesses>
export type LogWitnessState = LogWitnesses['witnesses'][number]
