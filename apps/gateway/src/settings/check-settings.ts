interface SocketAddress {
  readonly host: string
}

/** The settings of the HTTP check, and those it depends on. */
interface CheckSettings {
  readonly checkAddress: SocketAddress | undefined
  readonly checkDialect: string | undefined
  readonly checkGrpcAddress: SocketAddress | undefined
  readonly development: boolean
  readonly tlsCertFile: string | undefined
}

/** A proxy is known by its client certificate, or asks over loopback. Its requests have the headers of its clients. */
export function checkProblems(settings: CheckSettings): string[] {
  const { checkAddress, checkDialect, checkGrpcAddress, development, tlsCertFile } = settings
  if (checkGrpcAddress !== undefined && (development || !isLoopback(checkGrpcAddress.host)))
    return ['GATEWAY_CHECK_GRPC_ADDR: must be a loopback address, and is not allowed in development mode']
  if (checkAddress === undefined)
    return checkDialect === undefined ? [] : ['GATEWAY_CHECK_ADDR: is required with GATEWAY_CHECK_DIALECT']
  return [
    ...(checkDialect === undefined ? ['GATEWAY_CHECK_DIALECT: is required with GATEWAY_CHECK_ADDR'] : []),
    ...(development ? ['GATEWAY_CHECK_ADDR: is not allowed in development mode'] : []),
    ...(isLoopback(checkAddress.host) || tlsCertFile !== undefined
      ? []
      : ['GATEWAY_CHECK_ADDR: must be a loopback address without the TLS files']),
  ]
}

export function isLoopback(host: string): boolean {
  return host.startsWith('127.') || host === '::1'
}

export function batchProblems({
  cpuWorkers,
  maxBatchJobs,
}: {
  readonly cpuWorkers: number
  readonly maxBatchJobs: number
}): string[] {
  if (maxBatchJobs < cpuWorkers || (cpuWorkers === 1 && maxBatchJobs === 1)) return []
  return ['GATEWAY_MAX_BATCH_JOBS: must stay below GATEWAY_CPU_WORKERS when there are several']
}
