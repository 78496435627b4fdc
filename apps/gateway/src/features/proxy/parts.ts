import type { Core } from '../../core.ts'
import type { ProxyReader } from './proxy-reader.ts'

/** Lists what the handlers of this feature use. */
export interface ProxyParts extends Pick<Core, 'authorities' | 'clock' | 'metrics'> {
  readonly reader: ProxyReader
}
