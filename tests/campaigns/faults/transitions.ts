import * as own from './own-transitions.ts'
import type { Transition } from './transition.ts'
import * as trust from '../trust/transitions.ts'

/**
 * Every kind of change. Neighbours tell different events, also in what they prepare: the start that shows what became of
 * one change is the one that will be killed in the next.
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
