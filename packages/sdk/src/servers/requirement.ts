import type { AskOptions } from '../node/decider.ts'
import type { Requirement } from '../request-proof/authorizer.ts'

/** The question that a requirement asks about one request. */
export function optionsOf<Req>(
  requirement: Requirement<Req>,
  request: Req,
): { readonly capability: string; readonly options: Omit<AskOptions, 'caller' | 'attestation'> } {
  if (typeof requirement === 'string') return { capability: requirement, options: {} }
  const { capability, parameters, resource } = requirement
  return {
    capability: typeof capability === 'string' ? capability : capability(request),
    options: {
      ...(parameters === undefined ? {} : { parameters: parameters(request) }),
      ...(resource === undefined ? {} : { resource: resource(request) }),
    },
  }
}
