import { admission } from '@chancery/contract'
import { bind } from '../../auth/access.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import { whenClockIsCorrect } from '../../clock/when-correct.ts'
import type { Feature } from '../../core.ts'
import type { Transaction } from '../../database/database.ts'
import { add } from './add.ts'
import { type Admitted, claimEvidence } from './claim-evidence.ts'
import type { Evidence, EvidenceVerdict, VerifiedEvidence } from './evidence.ts'
import { findRejoinRule } from './expired-certificate.ts'
import { KeySets } from './key-sets.ts'
import { list } from './list.ts'
import { forRevocations } from '../../database/room/for-revocations.ts'
import type { AdmissionParts } from './parts.ts'
import { removeEnded } from './remove-evidence.job.ts'
import { remove, removeRulesOf } from './remove.ts'
import type { AdmissionState } from './state.ts'
import { test } from './test.ts'
import { verifyEvidence } from './verify-evidence.ts'

export { EvidenceRefusedError } from './claim-evidence.ts'
export { evidenceDetails, readEvidence } from './evidence.ts'
export type { Evidence, EvidenceReason, EvidenceVerdict, VerifiedEvidence } from './evidence.ts'
export { endRules } from './end-rules.ts'
export { readPossibleRules } from './possible-rule.ts'
export {
  countActiveRules,
  findAdmittingRule,
  findNewest,
  findRenewableRule,
  insertAdmitted,
  listRules,
  listRulesOf,
} from './queries.ts'
export { isInForce, readSigned } from './rules.ts'

export interface Admission extends Feature {
  /** Verifies evidence of a node key whose proof was verified. Stores nothing. */
  verifyEvidence(evidence: Evidence, node_public_key: string): Promise<EvidenceVerdict>
  /** Spends it in the transaction that issues the certificate, or throws EvidenceRefusedError. */
  claimEvidence(
    tx: Transaction,
    evidence: VerifiedEvidence,
    admitted: Admitted & { readonly isRenewal: boolean },
  ): Promise<void>
  /** The rule by which the holder of this expired certificate may join again. */
  findRejoinRule(cert_json: string): Promise<string | undefined>
  /** Removes the rules that an operator key added. Returns their number. */
  removeRulesOf(
    tx: Transaction,
    created_by: string,
    removal: { readonly call: OperatorCall; readonly reason: string },
  ): Promise<number>
}

export function openAdmission(parts: AdmissionParts): Admission {
  const keySets = new KeySets(parts)
  const state: AdmissionState = { ...parts, keySets }
  return {
    routes: [
      bind(admission.add, (call) => add(call, parts)),
      bind(admission.list, (call) => list(call, parts)),
      bind(admission.test, (call) => test(call, state)),
      bind(admission.remove, (call) => remove(call, forRevocations(parts))),
    ],
    jobs: [
      {
        name: 'evidence-removal',
        everySeconds: 600,
        run: whenClockIsCorrect(parts.clockCheck, (signal) => removeEnded(parts, signal)),
      },
    ],
    verifyEvidence: (evidence, node_public_key) => verifyEvidence(state, evidence, node_public_key),
    claimEvidence: (tx, evidence, admitted) => claimEvidence(tx, parts, evidence, admitted),
    findRejoinRule: (cert_json) => findRejoinRule(parts, cert_json),
    removeRulesOf: (tx, created_by, removal) => removeRulesOf(tx, parts, created_by, removal),
    close: () => Promise.resolve(keySets.close()),
  }
}
