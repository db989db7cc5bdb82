/* Runs the exported problem on a machine at the other end of standard input and output, a request a line:
 *
 *     w ADDRESS DATA    without an answer
 *     r ADDRESS         the answer is the word
 *     l SIZE            the answer is the number of bytes of the log, and they
 *     e ERROR BYTE ...  the end: the first byte of a word that is 1, the counts and the labels
 */
#include <stdio.h>

#include "mrfhw_driver.h"
#include "mrfhw_image.h"

static unsigned long number(void) {
    unsigned long value = 0;
    return scanf("%lu", &value) == 1 ? value : 0;
}

static bool write_word(void *context, uint32_t address, uint32_t data) {
    (void)context;
    printf("w %lu %lu\n", (unsigned long)address, (unsigned long)data);
    return true;
}

static bool read_word(void *context, uint32_t address, uint32_t *data) {
    (void)context;
    printf("r %lu\n", (unsigned long)address);
    *data = (uint32_t)number();
    return true;
}

static int32_t read_log(void *context, uint8_t *bytes, uint32_t size) {
    unsigned long count, i;
    (void)context;
    printf("l %lu\n", (unsigned long)size);
    count = number();
    for (i = 0; i < count; i++) bytes[i] = (uint8_t)number();
    return (int32_t)count;
}

static const mrfhw_bus bus = {write_word, read_word, read_log, NULL, NULL};
static mrfhw_machine machine;
static mrfhw_count counts[MRFHW_FIELD_SITES * MRFHW_FIELD_LABELS];
static uint8_t last[MRFHW_FIELD_SITES];

int main(void) {
    const uint32_t one = 1;
    mrfhw_error error;
    size_t i;

    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    error = mrfhw_open(&machine, &bus);
    if (error == MRFHW_OK) error = mrfhw_settle(&machine, 1000);
    if (error == MRFHW_OK)
        error = mrfhw_load(&machine, mrfhw_load_image, MRFHW_LOAD_IMAGE_WORDS, counts, sizeof counts / sizeof counts[0], last,
                           sizeof last);
    if (error == MRFHW_OK) error = mrfhw_run(&machine, 1000);
    printf("e %d %d", (int)error, *(const uint8_t *)&one);
    for (i = 0; i < sizeof counts / sizeof counts[0]; i++) printf(" %lu", (unsigned long)counts[i]);
    for (i = 0; i < sizeof last; i++) printf(" %u", last[i]);
    printf("\n");
    return 0;
}
