import type { PolicySelector } from '../artifacts/boundary-policy.ts'
import { type FactPath, type Facts, findFact, readFactPath } from './facts.ts'
import { type Scalar, equalScalars } from './engine-question.ts'
import { comparable } from './gates/listed.ts'

/** A selector prepared for many requests. */
export type ReadySelector = (facts: Facts) => boolean

/** An exact capability, or a stem with `.*`: no other wildcard, so a pattern has one clear meaning. */
export function isCapabilityPattern(entry: string): boolean {
  const star = entry.indexOf('*')
  if (star === -1) return entry !== ''
  return star === entry.length - 1 && entry.length > 2 && entry.at(-2) === '.'
}

/**
 * Whether a policy applies (protocol/trust-operations 5.4): every field that is not empty must match, one entry of a
 * field is enough. An empty selector matches every request.
 */
export function prepareSelector(selector: PolicySelector): ReadySelector {
  const parameters = Object.entries(selector.parameter_equals).map(([path, values]) => ({
    path: readFactPath(path, 'parameter_equals'),
    values,
  }))
  return (facts) => {
    const { context } = facts
    return (
      matchesCapability(selector.capabilities, context.requested_capability) &&
      isNamed(selector.requester_sovereign_ids, context.requester_sovereign_id) &&
      isNamed(selector.provider_sovereign_ids, context.provider_sovereign_id) &&
      isNamed(selector.agreement_ids, context.agreement_id) &&
      isNamed(selector.parent_kinds, context.parent_kind) &&
      parameters.every((parameter) => equalsOne(parameter, facts))
    )
  }
}

/** True when nothing narrows the policy: it binds every request. */
export function isGlobal(selector: PolicySelector): boolean {
  const { parameter_equals, ...lists } = selector
  return Object.keys(parameter_equals).length === 0 && Object.values(lists).every((list) => list.length === 0)
}

function matchesCapability(entries: readonly string[], requested: string): boolean {
  return entries.length === 0 || namesCapability(entries, requested)
}

/** Whether an entry is the capability, or a pattern that covers it. */
export function namesCapability(entries: readonly string[], requested: string): boolean {
  return entries.some((entry) =>
    // `secret.*` keeps its dot: it covers secret.rotate, and neither secret nor secrets.rotate.
    entry.endsWith('.*') ? requested.startsWith(entry.slice(0, -1)) : entry === requested,
  )
}

function isNamed(entries: readonly string[], value: string): boolean {
  return entries.length === 0 || entries.includes(value)
}

function equalsOne({ path, values }: { path: FactPath; values: readonly Scalar[] }, facts: Facts): boolean {
  const value = comparable(findFact(path, facts))
  return value !== undefined && values.some((each) => equalScalars(each, value))
}
