/** Packages that only some installations need, with the versions that this release is tested with. */
export const OPTIONAL_PACKAGES = {
  grpc: ['@grpc/grpc-js@1.14.7'],
  nats: ['@nats-io/jetstream@3.4.0', '@nats-io/transport-node@3.4.0'],
  pkcs11: ['pkcs11js@2.1.7'],
  sodium: ['sodium-native@5.1.0'],
} as const

/** Returns the command that installs these packages. */
export function installCommand(name: keyof typeof OPTIONAL_PACKAGES): string {
  return `npm install ${OPTIONAL_PACKAGES[name].join(' ')}`
}

/** An optional package that is needed is not installed. The message has the command that installs it. */
export class PackageMissingError extends Error {
  override readonly name = 'PackageMissingError'
  /** The log shows the reason without frames, as for a StartError. */
  readonly isExpected = true
}

/** Imports a module that needs optional packages. `need` is the setting or command that needs them. */
export async function loadOptional<Module>(
  name: keyof typeof OPTIONAL_PACKAGES,
  need: string,
  load: () => Promise<Module>,
): Promise<Module> {
  try {
    return await load()
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND')) throw error
    throw new PackageMissingError(`${need}: needs an optional package: ${installCommand(name)}`, { cause: error })
  }
}
