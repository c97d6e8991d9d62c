// SPDX-License-Identifier: GPL-2.0
/*
 * certify - write an X.509 certificate and its private key (ECDSA, P-256), as tests need them
 *
 *	certify FILE NAME [AUTHORITY]
 *
 * The files are FILE.pem and FILE.key, and valid for one day. NAME is the common name and the DNS
 * name. AUTHORITY.pem and AUTHORITY.key sign the certificate. Without them it signs itself and may
 * sign others.
 */
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define VALID	86400	/* seconds */

static void check(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "certify: %s failed\n", what);
	exit(1);
}

static FILE *file(const char *name, const char *suffix, const char *mode)
{
	char path[4096];
	FILE *opened;

	check(snprintf(path, sizeof(path), "%s%s", name, suffix) < (int)sizeof(path), name);
	opened = fopen(path, mode);
	check(opened, path);
	return opened;
}

static void extend(X509 *certificate, int extension, const char *value)
{
	X509_EXTENSION *made = X509V3_EXT_conf_nid(NULL, NULL, extension, value);

	check(made && X509_add_ext(certificate, made, -1), value);
	X509_EXTENSION_free(made);
}

static void set_names(X509 *certificate, const char *name, const X509 *authority)
{
	X509_NAME *subject = X509_get_subject_name(certificate);
	char names[300];

	check(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name,
					 -1, -1, 0), name);
	if (!authority) {
		X509_set_issuer_name(certificate, subject);
		extend(certificate, NID_basic_constraints, "critical,CA:TRUE");
		return;
	}
	X509_set_issuer_name(certificate, X509_get_subject_name(authority));
	snprintf(names, sizeof(names), "DNS:%s", name);
	extend(certificate, NID_subject_alt_name, names);
}

int main(int argc, char **argv)
{
	EVP_PKEY *key = EVP_EC_gen("P-256"), *signer = key;
	X509 *certificate = X509_new(), *authority = NULL;
	uint64_t serial;
	FILE *out;

	if (argc != 3 && argc != 4) {
		fputs("certify FILE NAME [AUTHORITY]\n", stderr);
		return 2;
	}
	umask(077);
	check(key && certificate, "making a key");
	if (argc == 4) {
		authority = PEM_read_X509(file(argv[3], ".pem", "r"), NULL, NULL, NULL);
		signer = PEM_read_PrivateKey(file(argv[3], ".key", "r"), NULL, NULL, NULL);
		check(authority && signer, argv[3]);
	}
	check(RAND_bytes((unsigned char *)&serial, sizeof(serial)) == 1, "a serial number");
	ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial >> 1);
	X509_set_version(certificate, X509_VERSION_3);
	X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
	X509_gmtime_adj(X509_getm_notAfter(certificate), VALID);
	X509_set_pubkey(certificate, key);
	set_names(certificate, argv[2], authority);
	check(X509_sign(certificate, signer, EVP_sha256()), "signing");
	out = file(argv[1], ".pem", "w");
	check(PEM_write_X509(out, certificate) && !fclose(out), argv[1]);
	out = file(argv[1], ".key", "w");
	check(PEM_write_PrivateKey(out, key, NULL, NULL, 0, NULL, NULL) && !fclose(out), argv[1]);
	return 0;
}
