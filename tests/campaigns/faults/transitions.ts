import * as own from './own-transitions.ts'
import type { Transition } from './transition.ts'
import * as trust from '../trust/transitions.ts'

/**
 * Every kind of change. Neighbours have different events, also in their preparation, because one start checks a change
 * and is killed during the next.
 */
export const TRANSITIONS: readonly Transition[] = [
  own.inviteCreated,
  own.certificateRevoked,
  own.policyPublished,
  own.agentDeregistered,
  trust.membershipAttestationIssued,
  own.crlPublished,
  trust.recognitionTreatyIssued,
  trust.membershipAttestationRevoked,
  trust.recognitionPolicySaved,
  trust.recognitionTreatyRevoked,
  trust.boundaryPolicyPublished,
  trust.executorKeyRegistered,
  trust.boundaryPolicyActivated,
  trust.sovereignRevocationFeedImported,
  trust.boundaryPolicyDeactivated,
  own.policyRolledBack,
  trust.executorKeyRetired,
  trust.dataLicensePolicyCreated,
  own.operatorKeyRevoked,
  trust.capabilityOfferBuilt,
]
