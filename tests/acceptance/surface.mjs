// The acceptance checks use the names of release 0.2.0. This module gives them the names of now, and nothing else.

/** A script imports the library under its name. */
export const modules = {
  '@chancery/sdk': './tests/acceptance/former-names.mjs',
  '@chancery/sdk/existing': '@chancery/sdk/compat',
  '@chancery/sdk/node': './tests/acceptance/former-names.mjs',
}

export async function packages(load) {
  const [sdk, verify, existing, protocol] = await Promise.all([
    import('./former-names.mjs'),
    load('@chancery/sdk/verify'),
    load('@chancery/sdk/compat'),
    load('@chancery/protocol'),
  ])
  return { sdk, verify: { ...verify, ...sdk.verifiers }, existing: sdk.existingOf(existing), node: sdk, protocol }
}
