import { DAY, HOUR, type Instant, MINUTE, SECOND } from '@chancery/protocol'
import { plural } from './screen.ts'

/** Returns a duration as text: its two largest units, rounded down. */
export function describeSpan(span: Instant): string {
  const [days, hours, minutes] = [span / DAY, (span % DAY) / HOUR, (span % HOUR) / MINUTE]
  if (days > 0n) return hours > 0n ? `${plural(days, 'day')} ${hours} h` : plural(days, 'day')
  if (hours > 0n) return minutes > 0n ? `${hours} h ${minutes} min` : `${hours} h`
  return minutes > 0n ? `${minutes} min` : `${(span % MINUTE) / SECOND} s`
}
